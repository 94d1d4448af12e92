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

fn stored(request: Inbound) -> RejectedRequest {
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
fn a_request_that_fits_is_stored_unchanged() {
    let sent = request(10, 100, 20_000);
    let rejected = stored(sent.clone());
    assert!(!rejected.is_cut && !rejected.is_to_unknown_source());
    assert_eq!(rejected.body_bytes, 20_000);
    assert_eq!(
        (rejected.request.headers, rejected.request.body),
        (sent.headers, sent.body)
    );
}

#[test]
fn no_request_is_stored_beyond_the_limit() {
    let long = "ä".repeat(5000);
    for mut sent in [
        request(0, 0, 1_000_000),
        request(200, 10, 10),
        request(3, 6_000, 100_000),
        request(1, 13_000, 0),
    ] {
        assert!(stored(sent.clone()).is_cut);
        (sent.path, sent.query) = (long.clone(), Some(long.clone()));
        let rejected = stored(sent.clone());
        assert!(rejected.is_cut);
        assert!(size(&rejected.request) <= MAX_BYTES);
        assert_eq!(rejected.body_bytes, sent.body.len() as u64);
    }
}

#[test]
fn the_first_64_headers_with_12_kib_of_path_query_and_headers_are_stored() {
    let is_cut = |sent: &Inbound| stored(sent.clone()).is_cut;
    assert!(!is_cut(&request(64, 10, 10)));
    let rejected = stored(request(65, 10, 10));
    assert!(rejected.is_cut);
    assert_eq!(rejected.request.headers, request(64, 10, 10).headers);
    let others = "/p".len() + "q=1".len() + "x-0".len();
    let longest = 12 * 1024 - others;
    assert!(!is_cut(&request(1, longest, 10)));
    assert!(is_cut(&request(1, longest + 1, 10)));
    let with = |path: usize, query: usize| Inbound {
        path: "p".repeat(path),
        query: Some("q".repeat(query)),
        ..request(1, 10, 10)
    };
    assert!(!is_cut(&with(1024, 2048)));
    assert!(is_cut(&with(1025, 2048)));
    assert!(is_cut(&with(1024, 2049)));
}

#[test]
fn a_rejected_request_is_shown_without_its_contents() {
    let mut sent = request(1, 1, 0);
    sent.headers.insert("x-0", "canary".parse().unwrap());
    sent.body = Bytes::from_static(b"canary");
    let shown = format!("{:?}", stored(sent));
    assert!(!shown.contains("canary"), "{shown}");
    assert!(
        shown.contains("NoMatch") && shown.contains("body_bytes: 6"),
        "{shown}"
    );
}

#[test]
fn the_placeholder_for_an_unknown_source_is_as_long_but_blank() {
    let sent = request(0, 0, 500);
    let rejected =
        RejectedRequest::to_unknown_source(sent.clone(), Rejection::UnknownSource, Timestamp::ZERO);
    assert!(rejected.is_to_unknown_source());
    assert_eq!(size(&rejected.request), size(&sent));
    let blank = format!(
        "{}{}",
        rejected.request.path,
        rejected.request.query.unwrap()
    );
    assert_eq!(blank.trim(), "");
    assert!(rejected.request.body.iter().all(|byte| *byte == 0));
}

#[test]
fn ten_per_minute_are_stored_and_the_rest_are_counted() {
    let second = |n: u64| Timestamp::ZERO.plus(Millis::from_seconds(n));
    let (mut counts, mut places) = (RejectionCounts::default(), Vec::new());
    for n in 0..25 {
        let (next, place) = counts.with_one_more(second(n));
        counts = next;
        places.extend(place);
    }
    assert_eq!(places, (0..10).collect::<Vec<_>>());
    assert_eq!((counts.stored, counts.counted), (10, 15));
    let (next, place) = counts.with_one_more(second(60));
    assert_eq!((next.stored, next.counted, place), (11, 15, Some(10)));
    // The clock is set back.
    let (_, place) = RejectionCounts {
        in_minute: 10,
        ..next
    }
    .with_one_more(second(59));
    assert_eq!(place, None);
}

#[test]
fn a_minute_noted_by_a_clock_that_ran_ahead_does_not_use_up_the_allowance() {
    let second = |n: u64| Timestamp::ZERO.plus(Millis::from_seconds(n));
    let (mut counts, _) = RejectionCounts::default().with_one_more(second(86_400));
    let mut stored = 0;
    for n in 0..25 {
        let (next, place) = counts.with_one_more(second(n));
        counts = next;
        stored += u64::from(place.is_some());
    }
    assert_eq!(stored, 10);
}

#[test]
fn an_id_contains_its_position() {
    let at = Timestamp::from_millis(1_771_668_000_123);
    let id = RejectedId::of(at, 12_345);
    assert_eq!(id.place(), 12_345);
    assert_ne!(id, RejectedId::of(at, 12_346));
    assert_ne!(id, RejectedId::of(at.plus(Millis::new(1)), 12_345));
}

#[test]
fn an_impossible_content_length_is_ignored() {
    for (declared, expected) in [("4096", 4096), ("9223372036854775808", 0), ("-1", 0)] {
        let mut sent = request(0, 0, 0);
        sent.headers
            .insert(CONTENT_LENGTH, declared.parse().unwrap());
        let (tenant, source) = (TenantId::default(), SourceId::from_bytes([1; 16]));
        let rejected =
            RejectedRequest::bounded(tenant, source, sent, Rejection::TooLarge, Timestamp::ZERO);
        assert_eq!(rejected.body_bytes, expected, "{declared}");
    }
}

#[test]
fn a_rejected_request_is_stored_for_a_week() {
    let just_before = Timestamp::ZERO.plus(KEPT_FOR).minus(Millis::new(1));
    assert_eq!(just_before.day(), Timestamp::from_millis(6 * 86_400_000));
}
