//! One field for whatever somebody has at hand: an id, or a session.

use axum::extract::State;
use axum::response::Redirect;
use postrider_domain::ids::{DeliveryId, JobId, SourceId, WebhookId};

use super::fields::Asked;
use super::session::Viewer;
use crate::Api;

/// Leads to what has this id, or to the deliveries of this session.
pub(super) async fn find(_: State<Api>, _: Viewer, Asked(fields): Asked) -> Redirect {
    Redirect::to(&place(&fields.text("q")))
}

fn place(text: &str) -> String {
    if text.is_empty() {
        "/inspector/deliveries".to_owned()
    } else if text.parse::<DeliveryId>().is_ok() {
        format!("/inspector/deliveries/{text}")
    } else if text.parse::<WebhookId>().is_ok() {
        format!("/inspector/webhooks/{text}")
    } else if text.parse::<SourceId>().is_ok() {
        format!("/inspector/sources/{text}")
    } else if text.parse::<JobId>().is_ok() {
        format!("/inspector/retries/{text}")
    } else {
        let session: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        format!("/inspector/deliveries?session_id={session}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_leads_to_its_page_and_anything_else_is_a_session() {
        let webhook = WebhookId::from_bytes([7; 16]).to_string();
        assert_eq!(place(&webhook), format!("/inspector/webhooks/{webhook}"));
        assert_eq!(place("wh_x&y"), "/inspector/deliveries?session_id=wh_x%26y");
        assert_eq!(place(""), "/inspector/deliveries");
    }
}
