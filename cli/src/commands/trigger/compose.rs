//! Composes a signed request, as the provider would.

use http::{HeaderName, HeaderValue};
use postrider_domain::inbound::Inbound;
use postrider_domain::scheme::{At, Scheme};
use postrider_domain::time::Timestamp;
use postrider_samples::{self as sample, Unsigned};

use super::samples::Event;
use crate::failure::Failure;
use crate::hidden::Hidden;
use crate::schemes::{keys, misfit};

pub(super) struct Draft<'a> {
    pub(super) scheme: &'a Scheme,
    pub(super) event: &'a Event,
    pub(super) secret: &'a Hidden,
    /// The URL to sign, if the scheme signs it.
    pub(super) url: &'a str,
    pub(super) query: Option<&'a str>,
    pub(super) id: &'a str,
    pub(super) at: Timestamp,
    /// `Name: value`, set after signing.
    pub(super) headers: &'a [Hidden],
}

/// Signs it in the first way of the scheme that the secret fits.
pub(super) fn compose(draft: &Draft<'_>) -> Result<Inbound, Failure> {
    if let Some(misfit) = misfit(draft.scheme, draft.secret) {
        return Err(Failure::Input(format!("the secret {misfit}")));
    }
    let event = draft.event;
    let unsigned = Unsigned {
        url: draft.url,
        query: draft.query,
        id: draft.id,
        headers: &[],
        content_type: &event.content_type,
        body: &event.body,
    };
    let scheme = leaving_given_bodies(draft.scheme, event);
    let mut ways = scheme.ways.iter();
    let signed = ways.find_map(|way| {
        let keys = keys(way, draft.secret)?;
        sample::sign_in(way, &scheme, &keys, unsigned, draft.at)
    });
    let mut request = signed.ok_or_else(|| {
        Failure::Input(format!(
            "cannot sign this request as `{}`: the body must have the format of that sender",
            scheme.name
        ))
    })?;
    for (name, value) in &event.headers {
        set(&mut request, name, value)?;
    }
    for header in draft.headers {
        let (name, value) = header.expose().split_once(':').unwrap_or_default();
        set(&mut request, name.trim(), value.trim())?;
    }
    Ok(request)
}

/// A sample gets a new id wherever the scheme has one. A body given by the user is not modified for that.
fn leaving_given_bodies(scheme: &Scheme, event: &Event) -> Scheme {
    let mut scheme = scheme.clone();
    if event.is_given {
        scheme
            .delivery_id
            .retain(|field| !matches!(field.at, At::Body(_)));
    }
    scheme
}

/// Errors do not quote the header: the value may be a credential.
fn set(request: &mut Inbound, name: &str, value: &str) -> Result<(), Failure> {
    let header = HeaderName::try_from(name)
        .ok()
        .zip(HeaderValue::from_str(value).ok());
    let (name, value) = header
        .ok_or_else(|| Failure::Input("--header must have the form `Name: value`".to_owned()))?;
    request.headers.insert(name, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::samples::choose;
    use super::*;
    use data_encoding::HEXLOWER;
    use postrider_domain::ids::{SourceId, TenantId};
    use postrider_domain::inbound::verify;
    use postrider_domain::secret::{SecretRing, SharedSecret};
    use postrider_domain::source::{Source, SourceDraft};

    const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);
    const URL: &str = "https://hooks.example/in";
    const SEED: [u8; 32] = [7; 32];

    fn draft<'a>(scheme: &'a Scheme, event: &'a Event, secret: &'a Hidden) -> Draft<'a> {
        Draft {
            scheme,
            event,
            secret,
            url: URL,
            query: None,
            id: "d1",
            at: NOW,
            headers: &[],
        }
    }

    fn source(scheme: &Scheme, secret: &SharedSecret) -> Source {
        let draft = SourceDraft {
            name: "n".to_owned(),
            scheme: scheme.name.to_owned(),
            public_url: Some(URL.to_owned()),
            ..SourceDraft::default()
        };
        Source {
            id: SourceId::from_bytes([0; 16]),
            tenant: TenantId::default(),
            settings: draft.check(|_| false).unwrap(),
            secrets: SecretRing::new(secret.clone()),
            created_at: NOW,
            updated_at: NOW,
        }
    }

    #[test]
    fn every_sample_of_every_scheme_verifies_with_its_type() {
        for scheme in Scheme::all() {
            let keys = sample::keys(scheme, &SEED).unwrap();
            let is_pair = scheme.ways.iter().all(crate::schemes::has_key_pair);
            let secret: Hidden = if is_pair {
                HEXLOWER.encode(&SEED).into()
            } else {
                keys.secret.expose().to_owned().into()
            };
            let source = source(scheme, &keys.secret);
            for sample in sample::events(scheme) {
                let event = choose(scheme, Some(sample.name), None).unwrap();
                let request = compose(&draft(scheme, &event, &secret)).unwrap();
                let verified = verify(request, Some(&source), NOW);
                let verified = verified.unwrap_or_else(|why| panic!("{}: {why}", scheme.name));
                assert_eq!(
                    verified.event_type().as_str(),
                    sample.name,
                    "{}",
                    scheme.name
                );
            }
        }
    }

    #[test]
    fn a_given_body_is_sent_byte_for_byte() {
        let scheme = Scheme::named("stripe").unwrap();
        let body = br#"{"type": "x.y",  "id":"evt_mine"}"#.to_vec();
        let event = choose(&scheme, None, Some(body.clone())).unwrap();
        let secret = Hidden::from("whsec_x".to_owned());
        let request = compose(&draft(&scheme, &event, &secret)).unwrap();
        assert_eq!(request.body.as_ref(), body);
    }

    #[test]
    fn headers_are_set_after_signing_and_never_quoted() {
        let scheme = Scheme::named("github").unwrap();
        let event = choose(&scheme, None, None).unwrap();
        let secret = Hidden::from("s".to_owned());
        let headers = [Hidden::from("X-GitHub-Event: push".to_owned())];
        let with = |headers| Draft {
            headers,
            ..draft(&scheme, &event, &secret)
        };
        let request = compose(&with(&headers)).unwrap();
        assert_eq!(request.headers.get("x-github-event").unwrap(), "push");
        let bad = [Hidden::from("canary".to_owned())];
        let Err(failure) = compose(&with(&bad)) else {
            panic!("a header without a value")
        };
        assert!(!failure.to_string().contains("canary"));
    }
}
