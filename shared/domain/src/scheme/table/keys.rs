//! Schemes whose keys are base64 or public keys.

use super::{body, header, seconds, standard, whole};
use crate::scheme::{Digest, Encoding, Handshake, KeyForm, Part, Scheme, Way};

/// `standard` and `svix` are the same scheme: both accept either set of header names.
fn standard_webhooks(name: &'static str) -> Scheme {
    let version_1 = Way {
        encoding: Encoding::Base64,
        key: KeyForm::Whsec,
        ..standard("v1,")
    };
    let version_1a = Way {
        encoding: Encoding::Base64,
        digest: Digest::Ed25519,
        key: KeyForm::Whpk,
        ..standard("v1a,")
    };
    Scheme {
        name,
        ways: vec![version_1, version_1a],
        event_type: vec![body("/type")],
        delivery_id: vec![whole("webhook-id"), whole("svix-id")],
        ..Scheme::default()
    }
}

pub(super) fn rows() -> Vec<Scheme> {
    vec![
        standard_webhooks("standard"),
        standard_webhooks("svix"),
        Scheme {
            name: "sendgrid",
            ways: vec![Way {
                signature: vec![header("x-twilio-email-event-webhook-signature")],
                encoding: Encoding::Base64,
                digest: Digest::EcdsaP256,
                key: KeyForm::Base64,
                signed: vec![Part::Time, Part::Body],
                time: seconds(whole("x-twilio-email-event-webhook-timestamp")),
                ..Way::default()
            }],
            event_type: vec![body("/0/event")],
            delivery_id: vec![body("/0/sg_event_id")],
            ..Scheme::default()
        },
        Scheme {
            name: "discord",
            ways: vec![Way {
                signature: vec![header("x-signature-ed25519")],
                digest: Digest::Ed25519,
                key: KeyForm::Hex,
                signed: vec![Part::Time, Part::Body],
                time: seconds(whole("x-signature-timestamp")),
                ..Way::default()
            }],
            event_type: vec![body("/event/type")],
            handshake: Some(Handshake::Discord),
            ..Scheme::default()
        },
    ]
}
