//! Schemes that sign only the body.

use super::{at, behind, body, header, standard, whole};
use crate::scheme::{
    At, Digest, Encoding, Field, Handshake, KeyForm, Scheme, Text, Time, TimeForm, Way,
};

fn signed(signature: Vec<Field>) -> Vec<Way> {
    vec![Way {
        signature,
        ..Way::default()
    }]
}

fn signed_base64(signature: Vec<Field>) -> Vec<Way> {
    let encoding = Encoding::Base64;
    vec![Way {
        signature,
        encoding,
        ..Way::default()
    }]
}

pub(super) fn rows() -> Vec<Scheme> {
    vec![
        Scheme {
            name: "postrider",
            ways: signed(vec![
                behind("x-observatory-signature", "sha256="),
                behind("x-webhook-signature", "sha256="),
            ]),
            event_type: vec![whole("x-webhook-event"), body("/type")],
            delivery_id: vec![whole("webhook-id")],
            ..Scheme::default()
        },
        Scheme {
            name: "github",
            ways: signed(vec![behind("x-hub-signature-256", "sha256=")]),
            event_type: vec![whole("x-github-event")],
            event_suffix: Some(body("/action")),
            delivery_id: vec![whole("x-github-delivery")],
            ..Scheme::default()
        },
        Scheme {
            name: "bitbucket",
            ways: signed(vec![behind("x-hub-signature", "sha256=")]),
            event_type: vec![whole("x-event-key")],
            delivery_id: vec![whole("x-request-uuid")],
            ..Scheme::default()
        },
        Scheme {
            name: "jira",
            ways: signed(vec![behind("x-hub-signature", "sha256=")]),
            event_type: vec![whole("x-event-key"), body("/webhookEvent")],
            delivery_id: vec![whole("x-atlassian-webhook-identifier")],
            ..Scheme::default()
        },
        Scheme {
            name: "gitlab",
            ways: vec![
                Way {
                    signature: vec![whole("x-gitlab-token")],
                    encoding: Encoding::Text,
                    digest: Digest::Token,
                    signed: Vec::new(),
                    ..Way::default()
                },
                Way {
                    encoding: Encoding::Base64,
                    key: KeyForm::Whsec,
                    ..standard("v1,")
                },
            ],
            event_type: vec![whole("x-gitlab-event")],
            // The signed one first.
            delivery_id: vec![whole("webhook-id"), whole("x-gitlab-event-uuid")],
            ..Scheme::default()
        },
        Scheme {
            name: "shopify",
            ways: signed_base64(vec![
                header("x-shopify-hmac-sha256"),
                header("shopify-hmac-sha256"),
            ]),
            event_type: vec![whole("x-shopify-topic"), whole("shopify-topic")],
            delivery_id: vec![whole("x-shopify-webhook-id"), whole("shopify-webhook-id")],
            ..Scheme::default()
        },
        Scheme {
            name: "meta",
            ways: signed(vec![behind("x-hub-signature-256", "sha256=")]),
            event_type: vec![body("/object")],
            handshake: Some(Handshake::Meta),
            ..Scheme::default()
        },
        Scheme {
            name: "linear",
            ways: vec![Way {
                signature: vec![header("linear-signature")],
                time: Some(Time {
                    at: vec![body("/webhookTimestamp")],
                    form: TimeForm::Millis,
                    window_seconds: Some(60),
                }),
                ..Way::default()
            }],
            event_type: vec![body("/type")],
            event_suffix: Some(body("/action")),
            delivery_id: vec![whole("linear-delivery")],
            ..Scheme::default()
        },
        Scheme {
            name: "intercom",
            ways: vec![Way {
                signature: vec![behind("x-hub-signature", "sha1=")],
                digest: Digest::HmacSha1,
                ..Way::default()
            }],
            event_type: vec![body("/topic")],
            delivery_id: vec![body("/id")],
            ..Scheme::default()
        },
        Scheme {
            name: "typeform",
            ways: signed_base64(vec![behind("typeform-signature", "sha256=")]),
            event_type: vec![body("/event_type")],
            delivery_id: vec![body("/event_id")],
            ..Scheme::default()
        },
        Scheme {
            name: "docusign",
            ways: signed_base64(vec![at(At::Numbered(Text::Borrowed(
                "x-docusign-signature",
            )))]),
            event_type: vec![body("/event")],
            ..Scheme::default()
        },
    ]
}
