//! Schemes that sign the URL they call.

use super::{body, header, whole};
use crate::scheme::{Digest, Encoding, Part, Scheme, Time, TimeForm, UrlForm, Way};

fn twilio(url: UrlForm, body: Part) -> Way {
    Way {
        signature: vec![header("x-twilio-signature")],
        encoding: Encoding::Base64,
        digest: Digest::HmacSha1,
        signed: vec![Part::Url(url), body],
        ..Way::default()
    }
}

fn hubspot_v3(url: UrlForm) -> Way {
    Way {
        signature: vec![header("x-hubspot-signature-v3")],
        encoding: Encoding::Base64,
        signed: vec![Part::Method, Part::Url(url), Part::Body, Part::Time],
        time: Some(Time {
            at: vec![whole("x-hubspot-request-timestamp")],
            form: TimeForm::Millis,
            window_seconds: Some(super::WINDOW_SECONDS),
        }),
        ..Way::default()
    }
}

/// Versions 1 and 2. `X-HubSpot-Signature-Version` is not needed: a signature matches only its own version.
fn hubspot_early(signed: Vec<Part>) -> Way {
    Way {
        signature: vec![header("x-hubspot-signature")],
        digest: Digest::Sha256,
        signed,
        ..Way::default()
    }
}

pub(super) fn rows() -> Vec<Scheme> {
    vec![
        Scheme {
            name: "twilio",
            ways: vec![
                twilio(UrlForm::WithoutPort, Part::SortedForm),
                twilio(UrlForm::WithPort, Part::SortedForm),
                twilio(UrlForm::WithoutPort, Part::HashedBody),
                twilio(UrlForm::WithPort, Part::HashedBody),
            ],
            delivery_id: vec![whole("i-twilio-idempotency-token")],
            ..Scheme::default()
        },
        Scheme {
            name: "square",
            ways: vec![Way {
                signature: vec![header("x-square-hmacsha256-signature")],
                encoding: Encoding::Base64,
                signed: vec![Part::Url(UrlForm::AsGiven), Part::Body],
                ..Way::default()
            }],
            event_type: vec![body("/type")],
            delivery_id: vec![body("/event_id")],
            ..Scheme::default()
        },
        Scheme {
            name: "hubspot",
            ways: vec![
                hubspot_v3(UrlForm::Unescaped),
                hubspot_v3(UrlForm::AsGiven),
                hubspot_early(vec![Part::Method, Part::Url(UrlForm::AsGiven), Part::Body]),
                hubspot_early(vec![Part::Body]),
            ],
            event_type: vec![body("/0/subscriptionType")],
            // No delivery id: HubSpot's `eventId` need not be unique, and a repeated id would not be stored.
            ..Scheme::default()
        },
    ]
}
