//! The fields of the API's source documents that the command shows.

use postrider_domain::scheme::CustomDraft;
use serde::{Deserialize, Serialize};
use url::Url;

#[derive(Debug, Deserialize)]
pub(crate) struct Source {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) scheme: String,
    /// The path that the sender posts to.
    pub(crate) url: String,
    pub(crate) public_url: Option<String>,
    pub(crate) custom: Option<CustomDraft>,
    #[serde(default)]
    pub(crate) has_verify_token: bool,
    #[serde(default)]
    pub(crate) routes: Vec<Route>,
    #[serde(default)]
    pub(crate) secret_expires: Vec<String>,
    pub(crate) created_at: Option<String>,
    pub(crate) updated_at: Option<String>,
}

impl Source {
    /// The address the sender posts to, given the address of the gateway.
    pub(crate) fn address(&self, base: &Url) -> String {
        address(base, &self.url)
    }
}

/// Appends a path to an address, which may itself have a path, such as an API Gateway stage.
pub(crate) fn address(base: &Url, path: &str) -> String {
    format!("{}{path}", base.as_str().trim_end_matches('/'))
}

/// Routes events of some types to a webhook. Written back exactly as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Route {
    pub(crate) event_type: String,
    pub(crate) intent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target_session: Option<String>,
    pub(crate) webhook_id: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Routes {
    pub(crate) routes: Vec<Route>,
}

/// The response to a rotation.
#[derive(Debug, Deserialize)]
pub(crate) struct RotatedSource {
    pub(crate) previous_expires_at: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_source_includes_the_stage() {
        let source: Source = serde_json::from_str(
            r#"{"id":"src_1","name":"n","scheme":"github","url":"/gateway/webhooks/src_1","public_url":null,
                "routes":[],"secret_expires":[],"created_at":null,"updated_at":null}"#,
        )
        .unwrap();
        for (base, address) in [
            ("http://h:1", "http://h:1/gateway/webhooks/src_1"),
            ("https://h/prod/", "https://h/prod/gateway/webhooks/src_1"),
        ] {
            assert_eq!(source.address(&base.parse().unwrap()), address);
        }
    }
}
