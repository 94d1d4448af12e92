//! Sources (inbound senders) and their settings.

use std::sync::Arc;

use url::Url;

use crate::ids::{SourceId, TenantId, WebhookId};
use crate::invalid::Invalid;
use crate::route::{Route, RouteDraft};
use crate::scheme::{CUSTOM, CustomDraft, Handshake, Scheme};
use crate::secret::{SecretRing, SharedSecret, UncheckedSecret};
use crate::time::Timestamp;
use crate::webhook::{MAX_NAME_CHARS, is_name};

/// Per tenant.
pub const MAX_SOURCES: usize = 1000;
/// Per source.
pub const MAX_ROUTES: usize = 100;
pub const MAX_PUBLIC_URL_CHARS: usize = 2048;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Part of the path that the sender posts to.
    pub id: SourceId,
    pub tenant: TenantId,
    pub settings: SourceSettings,
    pub secrets: SecretRing<SharedSecret>,
    pub created_at: Timestamp,
    /// When the settings or secrets last changed.
    pub updated_at: Timestamp,
}

impl Source {
    /// Where the sender posts to, relative to the gateway's URL.
    #[must_use]
    pub fn path(id: SourceId) -> String {
        format!("/gateway/webhooks/{id}")
    }
}

/// The settings of a source, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSettings {
    pub name: String,
    pub scheme: Arc<Scheme>,
    /// The URL that the sender calls, for schemes that sign it.
    pub public_url: Option<Url>,
    /// What Meta sends in its handshake; the secret, if unset.
    pub verify_token: Option<SharedSecret>,
    /// The first matching route to a webhook counts.
    pub routes: Vec<Route>,
}

impl SourceSettings {
    /// Checks that the scheme can use this secret.
    pub fn check_secret(&self, secret: &SharedSecret) -> Result<(), Invalid> {
        let checked = self.scheme.check_secret(secret);
        checked.map_err(|misfit| Invalid::field("secret", misfit.to_string()))
    }
}

/// The settings of a source as submitted, unchecked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceDraft {
    pub name: String,
    pub scheme: String,
    /// Describes the scheme `custom`.
    pub custom: Option<CustomDraft>,
    /// A URL without a query; required by schemes that sign it.
    pub public_url: Option<String>,
    /// Only for the scheme `meta`: 1 to 1024 bytes.
    pub verify_token: Option<UncheckedSecret>,
    pub routes: Vec<RouteDraft>,
}

impl SourceDraft {
    /// Checks every field. `exists` returns whether the tenant has a webhook with this id.
    ///
    /// # Errors
    /// All errors at once.
    pub fn check(self, exists: impl Fn(WebhookId) -> bool) -> Result<SourceSettings, Invalid> {
        let mut errors = Invalid::default();
        let name = self.name.trim().to_owned();
        errors.require(is_name(&name), "name", || {
            format!("must be 1 to {MAX_NAME_CHARS} characters, without control characters")
        });
        let scheme = match check_scheme(&self.scheme, self.custom) {
            Ok(scheme) => Some(scheme),
            Err(found) => {
                errors.extend(found);
                None
            }
        };
        let needs_url = scheme.as_ref().is_some_and(|scheme| scheme.signs_url());
        errors.require(
            !needs_url || self.public_url.is_some(),
            "public_url",
            || "must be set, because the scheme signs the URL it calls".to_owned(),
        );
        let asks = scheme
            .as_ref()
            .is_none_or(|scheme| scheme.handshake == Some(Handshake::Meta));
        errors.require(asks || self.verify_token.is_none(), "verify_token", || {
            "must be set only for the scheme `meta`".to_owned()
        });
        let verify_token = self
            .verify_token
            .map(|token| errors.take("verify_token", token.check()));
        let public_url = self
            .public_url
            .map(|text| errors.take("public_url", check_public_url(&text)));
        let count = self.routes.len();
        errors.require(count <= MAX_ROUTES, "routes", || {
            format!("must be at most {MAX_ROUTES} routes")
        });
        let mut routes = Vec::with_capacity(count.min(MAX_ROUTES));
        for (n, draft) in self.routes.into_iter().take(MAX_ROUTES).enumerate() {
            match draft.check(&format!("routes[{n}]"), &exists) {
                Ok(route) => routes.push(route),
                Err(found) => errors.extend(found),
            }
        }
        let Some(scheme) = scheme else {
            return Err(errors);
        };
        errors.into_result()?;
        Ok(SourceSettings {
            name,
            scheme,
            public_url: public_url.flatten(),
            verify_token: verify_token.flatten(),
            routes,
        })
    }
}

fn check_scheme(name: &str, custom: Option<CustomDraft>) -> Result<Arc<Scheme>, Invalid> {
    match custom {
        Some(custom) if name == CUSTOM => custom.check().map(Arc::new),
        Some(_) => Err(Invalid::field(
            "custom",
            "must be set only for the scheme `custom`",
        )),
        None if name == CUSTOM => Err(Invalid::field(
            "custom",
            "must be set for the scheme `custom`",
        )),
        None => Scheme::named(name).map_err(|error| Invalid::field("scheme", error.to_string())),
    }
}

impl From<&SourceSettings> for SourceDraft {
    fn from(settings: &SourceSettings) -> Self {
        Self {
            name: settings.name.clone(),
            scheme: settings.scheme.name.to_owned(),
            custom: (settings.scheme.name == CUSTOM).then(|| CustomDraft::from(&*settings.scheme)),
            public_url: settings.public_url.as_ref().map(ToString::to_string),
            verify_token: settings.verify_token.as_ref().map(UncheckedSecret::from),
            routes: settings.routes.iter().map(RouteDraft::from).collect(),
        }
    }
}

/// # Errors
/// Under the field `secret`.
pub fn check_shared_secret(text: &str) -> Result<SharedSecret, Invalid> {
    SharedSecret::parse(text).map_err(|error| Invalid::field("secret", error.to_string()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be an http or https URL of at most {MAX_PUBLIC_URL_CHARS} characters, without a user name, password, query or fragment"
)]
struct PublicUrlError;

/// The gateway never calls this URL, it only builds signed messages from it, so egress rules do not apply.
fn check_public_url(text: &str) -> Result<Url, PublicUrlError> {
    let url = Url::parse(text).map_err(|_| PublicUrlError)?;
    let fits = text.chars().count() <= MAX_PUBLIC_URL_CHARS
        && matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    fits.then_some(url).ok_or(PublicUrlError)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(webhook: WebhookId) -> RouteDraft {
        RouteDraft {
            event_type: "pull_request.*".to_owned(),
            filter: Some(serde_json::json!({"action": ["opened"]})),
            intent: "code_review".to_owned(),
            target_session: Some("reviewer-cluster".to_owned()),
            webhook_id: webhook.to_string(),
        }
    }

    fn draft() -> SourceDraft {
        SourceDraft {
            name: " Peer ".to_owned(),
            scheme: "postrider".to_owned(),
            public_url: Some("https://hooks.example/in".to_owned()),
            routes: vec![route(WebhookId::from_bytes([1; 16]))],
            ..SourceDraft::default()
        }
    }

    #[test]
    fn valid_settings_survive_a_round_trip() {
        let settings = draft().check(|_| true).unwrap();
        assert_eq!(settings.name, "Peer");
        let again = SourceDraft::from(&settings).check(|_| true);
        assert_eq!(again, Ok(settings));
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let bad = SourceDraft {
            name: String::new(),
            scheme: "rot13".to_owned(),
            public_url: Some("https://user@hooks.example/".to_owned()),
            routes: vec![
                route(WebhookId::from_bytes([1; 16])),
                RouteDraft {
                    event_type: "a..b".to_owned(),
                    filter: Some(serde_json::json!({"action": "opened"})),
                    intent: String::new(),
                    target_session: Some("\n".to_owned()),
                    webhook_id: "wh_".to_owned(),
                },
            ],
            ..SourceDraft::default()
        };
        let errors = bad.check(|_| false).unwrap_err().into_fields();
        let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
        let expected = [
            "name",
            "scheme",
            "public_url",
            "routes[0].webhook_id",
            "routes[1].event_type",
            "routes[1].filter",
            "routes[1].intent",
            "routes[1].target_session",
            "routes[1].webhook_id",
        ];
        assert_eq!(fields, expected);
    }

    /// The fields with errors.
    fn faults(draft: SourceDraft) -> Vec<String> {
        let errors = draft.check(|_| true).err().map(Invalid::into_fields);
        let fields = errors.into_iter().flatten().map(|error| error.field);
        fields.collect()
    }

    #[test]
    fn a_custom_scheme_is_described_exactly_if_it_is_used() {
        let with = |scheme: &str, custom| SourceDraft {
            scheme: scheme.to_owned(),
            custom,
            ..draft()
        };
        let own = || {
            Some(CustomDraft {
                header: "x-own".to_owned(),
                ..CustomDraft::default()
            })
        };
        let settings = with("custom", own()).check(|_| true).unwrap();
        assert_eq!(settings.scheme.name, "custom");
        assert_eq!(SourceDraft::from(&settings).check(|_| true), Ok(settings));
        assert_eq!(faults(with("custom", None)), ["custom"]);
        assert_eq!(faults(with("github", own())), ["custom"]);
        assert_eq!(faults(with("rot13", None)), ["scheme"]);
    }

    #[test]
    fn only_meta_has_a_verify_token() {
        let with = |scheme: &str, token: &str| SourceDraft {
            scheme: scheme.to_owned(),
            verify_token: Some(token.to_owned().into()),
            ..draft()
        };
        assert!(faults(with("meta", "meatyhamhock")).is_empty());
        assert_eq!(faults(with("meta", "")), ["verify_token"]);
        assert_eq!(faults(with("github", "meatyhamhock")), ["verify_token"]);
    }

    #[test]
    fn a_secret_must_fit_the_scheme() {
        let settings = |scheme: &str| SourceDraft {
            scheme: scheme.to_owned(),
            ..draft()
        };
        let check = |scheme: &str| {
            let settings = settings(scheme).check(|_| true).unwrap();
            settings.check_secret(&check_shared_secret("any text").unwrap())
        };
        assert_eq!(check("github"), Ok(()));
        let errors = check("discord").unwrap_err().into_fields();
        assert_eq!(errors[0].field, "secret");
        assert!(!errors[0].message.contains("any text"));
    }

    #[test]
    fn a_sender_posts_to_the_path_with_the_id_of_its_source() {
        let id = SourceId::from_bytes([1; 16]);
        let path = Source::path(id);
        assert_eq!(
            path.strip_prefix("/gateway/webhooks/"),
            Some(&*id.to_string())
        );
    }

    #[test]
    fn the_number_of_routes_is_limited() {
        let many = |count| SourceDraft {
            routes: vec![route(WebhookId::from_bytes([1; 16])); count],
            ..draft()
        };
        assert!(many(MAX_ROUTES).check(|_| true).is_ok());
        assert!(many(MAX_ROUTES + 1).check(|_| true).is_err());
    }

    #[test]
    fn a_public_url_is_a_plain_http_or_https_url() {
        for good in ["http://h/", "https://h.example:8443/in", "https://[::1]/"] {
            assert!(check_public_url(good).is_ok(), "{good}");
        }
        let long = format!("https://h/{}", "x".repeat(MAX_PUBLIC_URL_CHARS));
        for bad in [
            "",
            "h",
            "ftp://h/",
            "https://h/?a=1",
            "https://h/#a",
            "https://a:b@h/",
            &long,
        ] {
            assert_eq!(check_public_url(bad), Err(PublicUrlError), "{bad}");
        }
    }
}
