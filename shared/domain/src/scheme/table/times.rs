//! Schemes that sign a timestamp with the body, or in one case (`mailgun`) instead of it.

use super::{at, behind, body, header, part, seconds, text, whole};
use crate::scheme::{At, Encoding, Handshake, Part, Scheme, Text, Time, TimeForm, Way};

/// `v0:<time>:<body>`.
fn version_0(signature: &'static str, time: &'static str) -> Vec<Way> {
    vec![Way {
        signature: vec![behind(signature, "v0=")],
        signed: vec![text("v0:"), Part::Time, text(":"), Part::Body],
        time: seconds(whole(time)),
        ..Way::default()
    }]
}

pub(super) fn rows() -> Vec<Scheme> {
    vec![
        Scheme {
            name: "stripe",
            ways: vec![Way {
                signature: vec![part("stripe-signature", ',', "v1=")],
                signed: vec![Part::Time, text("."), Part::Body],
                time: seconds(part("stripe-signature", ',', "t=")),
                ..Way::default()
            }],
            event_type: vec![body("/type")],
            delivery_id: vec![body("/id")],
            ..Scheme::default()
        },
        Scheme {
            name: "calendly",
            ways: vec![Way {
                signature: vec![part("calendly-webhook-signature", ',', "v1=")],
                signed: vec![Part::Time, text("."), Part::Body],
                time: Some(Time {
                    at: vec![part("calendly-webhook-signature", ',', "t=")],
                    form: TimeForm::Seconds,
                    window_seconds: Some(180),
                }),
                ..Way::default()
            }],
            event_type: vec![body("/event")],
            ..Scheme::default()
        },
        Scheme {
            name: "paddle",
            ways: vec![Way {
                signature: vec![part("paddle-signature", ';', "h1=")],
                signed: vec![Part::Time, text(":"), Part::Body],
                time: seconds(part("paddle-signature", ';', "ts=")),
                ..Way::default()
            }],
            event_type: vec![body("/event_type")],
            delivery_id: vec![body("/event_id")],
            ..Scheme::default()
        },
        Scheme {
            name: "slack",
            ways: version_0("x-slack-signature", "x-slack-request-timestamp"),
            event_type: vec![body("/event/type"), at(At::Form(Text::Borrowed("command")))],
            delivery_id: vec![body("/event_id")],
            handshake: Some(Handshake::Slack),
            ..Scheme::default()
        },
        Scheme {
            name: "zoom",
            ways: version_0("x-zm-signature", "x-zm-request-timestamp"),
            event_type: vec![body("/event")],
            handshake: Some(Handshake::Zoom),
            ..Scheme::default()
        },
        Scheme {
            name: "zendesk",
            ways: vec![Way {
                signature: vec![header("x-zendesk-webhook-signature")],
                encoding: Encoding::Base64,
                signed: vec![Part::Time, Part::Body],
                // No window, but the format is checked: there is no separator between the timestamp and the body.
                time: Some(Time {
                    at: vec![whole("x-zendesk-webhook-signature-timestamp")],
                    form: TimeForm::Rfc3339,
                    window_seconds: None,
                }),
                ..Way::default()
            }],
            event_type: vec![body("/type")],
            delivery_id: vec![whole("x-zendesk-webhook-invocation-id")],
            ..Scheme::default()
        },
        // The body is not signed. The signed token is the delivery id, so a replay with another body is a duplicate.
        Scheme {
            name: "mailgun",
            ways: vec![Way {
                signature: vec![body("/signature/signature")],
                signed: vec![Part::Time, Part::Id],
                time: seconds(body("/signature/timestamp")),
                id: vec![body("/signature/token")],
                ..Way::default()
            }],
            event_type: vec![body("/event-data/event")],
            delivery_id: vec![body("/signature/token")],
            ..Scheme::default()
        },
    ]
}
