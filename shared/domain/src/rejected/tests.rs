use super::*;

fn request(headers: usize, value: usize, body: usize) -> Inbound {
    let name = |n: usize| format!("x-{n}").parse::<http::HeaderName>().unwrap();
    let headers = (0..headers).map(|n| (name(n), "v".repeat(value).parse().unwrap()));
    Inbound {
        path: "/p".to_owned(),
        query: Some("q=1".to_owned()),
        ..Inbound::post(headers.collect(), Bytes::from(vec![b'x'; body]))
    }
}

fn kept(request: Inbound) -> RejectedRequest {
    RejectedRequest::bounded(
        TenantId::default(),
        SourceId::from_bytes([1; 16]),
        request,
        Rejection::NoMatch,
        Timestamp::ZERO,
    )
}

fn size(request: &Inbound) -> usize {
    let headers = request.headers.iter();
    let headers: usize = headers
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    request.path.len() + request.query.as_ref().unwrap().len() + headers + request.body.len()
}

#[test]
fn what_fits_is_kept_as_it_is() {
    let sent = request(10, 100, 20_000);
    let refused = kept(sent.clone());
    assert!(!refused.is_cut);
    assert_eq!(refused.body_bytes, 20_000);
    assert_eq!(
        (refused.request.headers, refused.request.body),
        (sent.headers, sent.body)
    );
}

#[test]
fn nothing_makes_it_larger_than_it_may_be() {
    let long = "ä".repeat(5000);
    for mut sent in [
        request(0, 0, 1_000_000),
        request(200, 10, 10),
        request(3, 6_000, 100_000),
        request(1, 13_000, 0),
    ] {
        assert!(kept(sent.clone()).is_cut);
        (sent.path, sent.query) = (long.clone(), Some(long.clone()));
        let refused = kept(sent.clone());
        assert!(refused.is_cut);
        assert!(size(&refused.request) <= MAX_BYTES);
        assert_eq!(refused.body_bytes, sent.body.len() as u64);
    }
}

#[test]
fn nobodys_request_is_as_long_but_blank() {
    let sent = request(0, 0, 500);
    let refused =
        RejectedRequest::to_unknown_source(sent.clone(), Rejection::UnknownSource, Timestamp::ZERO);
    assert!(refused.is_to_unknown_source());
    assert_eq!(size(&refused.request), size(&sent));
    let blank = format!("{}{}", refused.request.path, refused.request.query.unwrap());
    assert_eq!(blank.trim(), "");
    assert!(refused.request.body.iter().all(|byte| *byte == 0));
}

#[test]
fn ten_a_minute_are_kept_and_the_rest_is_counted() {
    let second = |n: u64| Timestamp::ZERO.plus(Millis::from_seconds(n));
    let (mut tally, mut places) = (RejectionCounts::default(), Vec::new());
    for n in 0..25 {
        let (next, place) = tally.with_one_more(second(n));
        tally = next;
        places.extend(place);
    }
    assert_eq!(places, (0..10).collect::<Vec<_>>());
    assert_eq!((tally.kept, tally.counted), (10, 15));
    let (next, place) = tally.with_one_more(second(60));
    assert_eq!((next.kept, next.counted, place), (11, 15, Some(10)));
    // The clock is set back.
    let (_, place) = RejectionCounts {
        in_minute: 10,
        ..next
    }
    .with_one_more(second(59));
    assert_eq!(place, None);
}

#[test]
fn an_id_tells_its_place() {
    let at = Timestamp::from_millis(1_771_668_000_123);
    let id = RejectedId::of(at, 12_345);
    assert_eq!(id.place(), 12_345);
    assert_ne!(id, RejectedId::of(at, 12_346));
    assert_ne!(id, RejectedId::of(at.plus(Millis::new(1)), 12_345));
}

#[test]
fn a_length_that_nobody_can_send_is_not_believed() {
    for (said, believed) in [("4096", 4096), ("9223372036854775808", 0), ("-1", 0)] {
        let mut sent = request(0, 0, 0);
        sent.headers.insert(CONTENT_LENGTH, said.parse().unwrap());
        let (tenant, source) = (TenantId::default(), SourceId::from_bytes([1; 16]));
        let refused =
            RejectedRequest::bounded(tenant, source, sent, Rejection::TooLarge, Timestamp::ZERO);
        assert_eq!(refused.body_bytes, believed, "{said}");
    }
}
