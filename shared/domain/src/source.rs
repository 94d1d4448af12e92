//! An inbound sender and what its owner may say about it.

use std::sync::Arc;

use url::Url;

use crate::ids::{SourceId, TenantId, WebhookId};
use crate::invalid::Invalid;
use crate::route::{Route, RouteDraft};
use crate::scheme::{CUSTOM, CustomDraft, Handshake, Scheme};
use crate::secret::{SecretRing, SharedSecret, UncheckedSecret};
use crate::time::Timestamp;
use crate::webhook::{MAX_NAME_CHARS, is_name};

/// The most sources of one tenant.
pub const MAX_SOURCES: usize = 1000;
/// The most routes of one source.
pub const MAX_ROUTES: usize = 100;
/// The longest public URL, in characters.
pub const MAX_PUBLIC_URL_CHARS: usize = 2048;

/// An inbound sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its id, which stands in the path that it posts to.
    pub id: SourceId,
    /// Its owner.
    pub tenant: TenantId,
    /// What can be changed about it.
    pub settings: SourceSettings,
    /// What it signs with.
    pub secrets: SecretRing<SharedSecret>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its settings or secrets changed last.
    pub updated_at: Timestamp,
}

impl Source {
    /// Where it posts to, behind the gateway's own address.
    #[must_use]
    pub fn path(id: SourceId) -> String {
        format!("/gateway/webhooks/{id}")
    }
}

/// What an owner may set, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSettings {
    /// What people call it.
    pub name: String,
    /// How it signs.
    pub scheme: Arc<Scheme>,
    /// The URL that it calls, for schemes that sign it.
    pub public_url: Option<Url>,
    /// What Meta says when it asks whether the address is its owner's; the secret, where there is none.
    pub verify_token: Option<SharedSecret>,
    /// Where its events go; the first that matches counts for a webhook.
    pub routes: Vec<Route>,
}

impl SourceSettings {
    /// Checks that a secret has the form of the scheme's.
    ///
    /// # Errors
    /// What it must be, under `secret`.
    pub fn check_secret(&self, secret: &SharedSecret) -> Result<(), Invalid> {
        let checked = self.scheme.check_secret(secret);
        checked.map_err(|misfit| Invalid::field("secret", misfit.to_string()))
    }
}

/// What an owner says, unchecked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceDraft {
    /// 1 to 100 characters.
    pub name: String,
    /// The name of a scheme.
    pub scheme: String,
    /// What the scheme is, if it is `custom`.
    pub custom: Option<CustomDraft>,
    /// A URL without query; schemes that sign it need it.
    pub public_url: Option<String>,
    /// For the scheme `meta`: 1 to 1024 bytes.
    pub verify_token: Option<UncheckedSecret>,
    /// At most 100 routes.
    pub routes: Vec<RouteDraft>,
}

impl SourceDraft {
    /// Checks every field. `exists` tells whether the owner has a webhook of this id.
    ///
    /// # Errors
    /// All faults at once.
    pub fn check(self, exists: impl Fn(WebhookId) -> bool) -> Result<SourceSettings, Invalid> {
        let mut faults = Invalid::default();
        let name = self.name.trim().to_owned();
        faults.require(is_name(&name), "name", || {
            format!("must be 1 to {MAX_NAME_CHARS} characters, none of them a control character")
        });
        let scheme = match check_scheme(&self.scheme, self.custom) {
            Ok(scheme) => Some(scheme),
            Err(found) => {
                faults.extend(found);
                None
            }
        };
        let needs_url = scheme.as_ref().is_some_and(|scheme| scheme.signs_url());
        faults.require(
            !needs_url || self.public_url.is_some(),
            "public_url",
            || "must be given: the scheme signs the URL that it calls".to_owned(),
        );
        let asks = scheme
            .as_ref()
            .is_none_or(|scheme| scheme.handshake == Some(Handshake::Meta));
        faults.require(asks || self.verify_token.is_none(), "verify_token", || {
            "must be given for the scheme `meta` only".to_owned()
        });
        let verify_token = self
            .verify_token
            .map(|token| faults.take("verify_token", token.check()));
        let public_url = self
            .public_url
            .map(|text| faults.take("public_url", check_public_url(&text)));
        let count = self.routes.len();
        faults.require(count <= MAX_ROUTES, "routes", || {
            format!("must be at most {MAX_ROUTES}")
        });
        let mut routes = Vec::with_capacity(count.min(MAX_ROUTES));
        for (n, draft) in self.routes.into_iter().take(MAX_ROUTES).enumerate() {
            match draft.check(&format!("routes[{n}]"), &exists) {
                Ok(route) => routes.push(route),
                Err(found) => faults.extend(found),
            }
        }
        let Some(scheme) = scheme else {
            return Err(faults);
        };
        faults.into_result()?;
        Ok(SourceSettings {
            name,
            scheme,
            public_url: public_url.flatten(),
            verify_token: verify_token.flatten(),
            routes,
        })
    }
}

/// The row of this name, or the one that its owner describes.
fn check_scheme(name: &str, custom: Option<CustomDraft>) -> Result<Arc<Scheme>, Invalid> {
    match custom {
        Some(custom) if name == CUSTOM => custom.check().map(Arc::new),
        Some(_) => Err(Invalid::field(
            "custom",
            "must be given for the scheme `custom` only",
        )),
        None if name == CUSTOM => Err(Invalid::field(
            "custom",
            "must be given for the scheme `custom`",
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

/// Checks a secret that an owner brings along.
///
/// # Errors
/// When it is empty or too long, under `secret`.
pub fn check_shared_secret(text: &str) -> Result<SharedSecret, Invalid> {
    SharedSecret::parse(text).map_err(|error| Invalid::field("secret", error.to_string()))
}

/// A text that cannot be the URL that a source calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be an http or https URL of at most {MAX_PUBLIC_URL_CHARS} characters, without user, query or fragment"
)]
struct PublicUrlError;

/// It is never called, only compared: what stands behind its host does not matter.
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
    fn what_fits_is_kept_and_can_be_said_again() {
        let settings = draft().check(|_| true).unwrap();
        assert_eq!(settings.name, "Peer");
        let again = SourceDraft::from(&settings).check(|_| true);
        assert_eq!(again, Ok(settings));
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let bad = SourceDraft {
            name: String::new(),
            scheme: "rot13".to_owned(),
            public_url: Some("https://user@hooks.example/".to_owned()),
            routes: vec![
                route(WebhookId::from_bytes([1; 16])),
                RouteDraft {
                    event_type: "a..b".to_owned(),
                    intent: String::new(),
                    target_session: Some("\n".to_owned()),
                    webhook_id: "wh_".to_owned(),
                },
            ],
            ..SourceDraft::default()
        };
        let faults = bad.check(|_| false).unwrap_err().into_fields();
        let fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
        let expected = [
            "name",
            "scheme",
            "public_url",
            "routes[0].webhook_id",
            "routes[1].event_type",
            "routes[1].intent",
            "routes[1].target_session",
            "routes[1].webhook_id",
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn routes_are_counted() {
        let many = |count| SourceDraft {
            routes: vec![route(WebhookId::from_bytes([1; 16])); count],
            ..draft()
        };
        assert!(many(MAX_ROUTES).check(|_| true).is_ok());
        assert!(many(MAX_ROUTES + 1).check(|_| true).is_err());
    }

    #[test]
    fn a_public_url_is_one_that_a_sender_could_call() {
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
