//! Test vectors that the providers have published.

use super::{post, secret, source};
use http::Method;
use postrider_domain::inbound::{Inbound, Rejection, verify};
use postrider_domain::scheme::Scheme;
use postrider_domain::source::Source;
use postrider_domain::time::Timestamp;
use postrider_samples::{self as sample, SampleKeys};

const SLACK: &[u8] = include_bytes!("../vectors/slack.body");
const STRIPE: &[u8] = include_bytes!("../vectors/stripe.body");

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn named(name: &str, text: &str) -> Source {
    source(&Scheme::named(name).unwrap(), secret(text))
}

/// Accepted as published, rejected with another body.
fn check(inbound: &Inbound, source: &Source, now: Timestamp) {
    verify(inbound.clone(), Some(source), now).unwrap();
    let other = Inbound {
        body: [&inbound.body, &b"!"[..]].concat().into(),
        ..inbound.clone()
    };
    assert_eq!(verify(other, Some(source), now), Err(Rejection::NoMatch));
}

#[test]
fn of_github() {
    let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let inbound = post(&[("X-Hub-Signature-256", signature)], b"Hello, World!");
    check(
        &inbound,
        &named("github", "It's a Secret to Everybody"),
        at(0),
    );
}

#[test]
fn of_slack() {
    let signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    let headers = [
        ("X-Slack-Signature", signature),
        ("X-Slack-Request-Timestamp", "1531420618"),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    let (inbound, source) = (
        post(&headers, SLACK),
        named("slack", "8f742231b10e8888abcd99yyyzzz85a5"),
    );
    check(&inbound, &source, at(1_531_420_618));
    let verified = verify(inbound, Some(&source), at(1_531_420_618)).unwrap();
    assert_eq!(verified.event_type().as_str(), "/webhook-collect");
}

#[test]
fn of_standard_webhooks_under_both_sets_of_names() {
    for (scheme, prefix) in [
        ("standard", "webhook"),
        ("standard", "svix"),
        ("svix", "svix"),
        ("svix", "webhook"),
        ("gitlab", "webhook"),
    ] {
        let names = ["id", "timestamp", "signature"].map(|name| format!("{prefix}-{name}"));
        let headers = [
            (names[0].as_str(), "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            (names[1].as_str(), "1614265330"),
            (
                names[2].as_str(),
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ),
        ];
        let inbound = post(&headers, br#"{"test": 2432232314}"#);
        check(
            &inbound,
            &named(scheme, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
            at(1_614_265_330),
        );
    }
}

/// The message above, signed with the key of RFC 8032, section 7.1, test 1.
#[test]
fn of_standard_webhooks_with_a_public_key() {
    let headers = [
        ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
        ("webhook-timestamp", "1614265330"),
        (
            "webhook-signature",
            "v1a,fldxM4gAKugP6nnt1hdz3sgGfZ6d99nzrMFnZOELIxbzEHoVmAb2ADpkJK7zgPePmPsle0zV9jSeGlHFG2NVAw==",
        ),
    ];
    let inbound = post(&headers, br#"{"test": 2432232314}"#);
    let key = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    for scheme in ["standard", "svix"] {
        check(&inbound, &named(scheme, key), at(1_614_265_330));
    }
}

#[test]
fn of_stripe() {
    let signature = "t=1533204620,v1=2220f87ef101a04665f11cdf770523143f875572008577fa0f20882ddb9cc3c7,v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39";
    let inbound = post(&[("Stripe-Signature", signature)], STRIPE);
    check(
        &inbound,
        &named("stripe", "webhook_secret"),
        at(1_533_204_620),
    );
}

/// From HubSpot's documentation, which has no example of version 3: that one is computed with OpenSSL.
#[test]
fn of_hubspot() {
    let mut source = named("hubspot", "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy");
    source.settings.public_url = Some("https://www.example.com/webhook_uri".parse().unwrap());
    let (event, example): (&[u8], &[u8]) = (
        br#"[{"eventId":1,"subscriptionId":12345,"portalId":62515,"occurredAt":1564113600000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":123,"changeSource":"CRM","changeFlag":"NEW","appId":54321}]"#,
        br#"{"example_field":"example_value"}"#,
    );
    let time = ("X-HubSpot-Request-Timestamp", "1564113600000");
    for (body, signature) in [
        (
            event,
            (
                "X-HubSpot-Signature",
                "232db2615f3d666fe21a8ec971ac7b5402d33b9a925784df3ca654d05f4817de",
            ),
        ),
        (
            example,
            (
                "X-HubSpot-Signature",
                "9569219f8ba981ffa6f6f16aa0f48637d35d728c7e4d93d0d52efaa512af7900",
            ),
        ),
        (
            example,
            (
                "X-HubSpot-Signature-v3",
                "eT0ip2TKVpsIi1vb5C2Uu42eNdHL+oTE3NRZOF67O2U=",
            ),
        ),
    ] {
        check(&post(&[signature, time], body), &source, at(1_564_113_600));
    }
}

#[test]
fn of_twilio_whatever_the_port() {
    let body = b"To=%2B18005551212&CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309";
    let headers = [
        ("X-Twilio-Signature", "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
        (
            "Content-Type",
            "application/x-www-form-urlencoded; charset=utf-8",
        ),
    ];
    let inbound = Inbound {
        query: Some("foo=1&bar=2".to_owned()),
        ..post(&headers, body)
    };
    let mut source = named("twilio", "12345");
    for url in [
        "https://mycompany.com/myapp.php",
        "https://mycompany.com:8443/myapp.php",
    ] {
        source.settings.public_url = Some(url.parse().unwrap());
        check(&inbound, &source, at(0));
    }
    let not_a_form = post(&[headers[0], ("Content-Type", "application/json")], body);
    let not_a_form = Inbound {
        query: inbound.query,
        ..not_a_form
    };
    assert_eq!(
        verify(not_a_form, Some(&source), at(0)),
        Err(Rejection::NoMatch)
    );
}

#[test]
fn of_square() {
    let signature = "Cxt7+aTi4rKgcA0bC4g9EHdVtLSDWdqccmL5MvihU4U=";
    let body = br#"{"data":{"type":"webhooks","id":">id<"}}"#;
    let inbound = post(&[("x-square-hmacsha256-signature", signature)], body);
    let mut source = named("square", "signature-key");
    source.settings.public_url = Some("https://webhook.site/webhooks".parse().unwrap());
    check(&inbound, &source, at(0));
}

/// From the tests of `sendgrid-python`.
#[test]
fn of_sendgrid() {
    let key = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==";
    let body = include_bytes!("../vectors/sendgrid.body");
    let headers = [
        (
            "X-Twilio-Email-Event-Webhook-Signature",
            "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=",
        ),
        ("X-Twilio-Email-Event-Webhook-Timestamp", "1600112502"),
    ];
    let inbound = post(&headers, body);
    check(&inbound, &named("sendgrid", key), at(1_600_112_502));
}

/// RFC 8032, section 7.1, test 1.
#[test]
fn of_ed25519() {
    let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    let seed: [u8; 32] = data_encoding::HEXLOWER
        .decode(seed.as_bytes())
        .unwrap()
        .try_into()
        .unwrap();
    let keys = sample::keys(&Scheme::named("discord").unwrap(), &seed).unwrap();
    let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    assert_eq!(keys.secret.expose(), public);
}

#[test]
fn a_public_key_cannot_sign() {
    for name in ["sendgrid", "discord"] {
        let scheme = Scheme::named(name).unwrap();
        let public = sample::keys(&scheme, &[7; 32]).unwrap().secret;
        let event = &sample::events(&scheme)[0];
        let signed = sample::sign(
            &scheme,
            &SampleKeys::of(public),
            super::unsigned(event, "id"),
            at(0),
        );
        assert!(signed.is_none(), "{name}");
    }
}

#[test]
fn a_query_counts_where_the_url_is_signed() {
    let scheme = Scheme::named("square").unwrap();
    let keys = sample::keys(&scheme, &[7; 32]).unwrap();
    let source = source(&scheme, keys.secret.clone());
    let event = &sample::events(&scheme)[0];
    let unsigned = sample::Unsigned {
        query: Some("a=1"),
        ..super::unsigned(event, "id")
    };
    let inbound = sample::sign(&scheme, &keys, unsigned, at(0)).unwrap();
    assert_eq!(inbound.method, Method::POST);
    verify(inbound.clone(), Some(&source), at(0)).unwrap();
    for query in [None, Some("a=2".to_owned()), Some("a=1&b".to_owned())] {
        let other = Inbound {
            query,
            ..inbound.clone()
        };
        assert_eq!(verify(other, Some(&source), at(0)), Err(Rejection::NoMatch));
    }
}
