//! Links that log a customer in to the portal of their tenant.

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::ids::TenantId;
use crate::invalid::Invalid;
use crate::key::{KeyDigest, Scope};
use crate::time::{Millis, Timestamp};

/// How long a link may be valid, in seconds: time to open a page, not to keep the link.
pub const MIN_LINK_SECONDS: u64 = 60;
pub const MAX_LINK_SECONDS: u64 = 86_400;
/// How long a session lasts. A customer gets another link any time.
pub const SESSION_LASTS: Millis = Millis::from_seconds(4 * 3600);
/// How long it can be from the creation of a link to the end of its session.
pub const LONGEST_ACCESS: Millis = Millis::from_seconds(MAX_LINK_SECONDS).plus(SESSION_LASTS);
/// The URL is part of the session cookie, for which browsers take 4,096 bytes.
pub const MAX_RETURN_URL_CHARS: usize = 1_000;

/// A stored link: the digest of its token, never the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalLink {
    pub digest: KeyDigest,
    /// The only tenant that a session of this link sees.
    pub tenant: TenantId,
    /// `read`, `manage` or both.
    pub scopes: Vec<Scope>,
    /// The key that created the link. Revoking it ends the link and its sessions.
    pub issuer: KeyDigest,
    /// URL of the portal's Back link.
    pub return_url: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// The settings of a new link, as given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalLinkDraft {
    pub tenant: TenantId,
    pub expires_in_seconds: u64,
    pub return_url: Option<String>,
    /// `None` for `manage`.
    pub scopes: Option<Vec<Scope>>,
}

impl PortalLinkDraft {
    /// Checks the settings and makes a link of them.
    ///
    /// # Errors
    /// Every invalid field.
    pub fn check(
        self,
        digest: KeyDigest,
        issuer: KeyDigest,
        now: Timestamp,
    ) -> Result<PortalLink, Invalid> {
        let mut errors = Invalid::default();
        let seconds = self.expires_in_seconds;
        let is_short = (MIN_LINK_SECONDS..=MAX_LINK_SECONDS).contains(&seconds);
        errors.require(is_short, "expires_in_seconds", || {
            format!("must be {MIN_LINK_SECONDS} to {MAX_LINK_SECONDS}")
        });
        let scopes = self.scopes.unwrap_or_else(|| vec![Scope::Manage]);
        let may = |scope: &Scope| matches!(scope, Scope::Read | Scope::Manage);
        let are_known = !scopes.is_empty() && scopes.len() <= 2 && scopes.iter().all(may);
        errors.require(are_known, "scopes", || {
            "must be `read`, `manage` or both".to_owned()
        });
        let return_url = self.return_url.map(|text| return_url(&text));
        let return_url = match return_url.transpose() {
            Ok(url) => url,
            Err(message) => {
                errors.require(false, "return_url", || message);
                None
            }
        };
        errors.into_result()?;
        Ok(PortalLink {
            digest,
            tenant: self.tenant,
            scopes,
            issuer,
            return_url,
            created_at: now,
            expires_at: now.plus(Millis::from_seconds(seconds)),
        })
    }
}

/// The URL as the portal links to it.
fn return_url(text: &str) -> Result<String, String> {
    let too_long = || format!("must be at most {MAX_RETURN_URL_CHARS} characters");
    if text.chars().count() > MAX_RETURN_URL_CHARS {
        return Err(too_long());
    }
    let url = Url::parse(text).map_err(|error| format!("is not a valid URL: {error}"))?;
    if !is_web(&url) {
        return Err("must begin with https://, or with http:// for loopback".to_owned());
    }
    let url = String::from(url);
    // Other characters than ASCII are written as several.
    if url.len() > MAX_RETURN_URL_CHARS {
        return Err(too_long());
    }
    Ok(url)
}

/// Whether this is the URL of a web page that a customer's browser may be sent to: https without a user name, or http on
/// this machine.
#[must_use]
pub fn is_web(url: &Url) -> bool {
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => return false,
    };
    let has_user = !url.username().is_empty() || url.password().is_some();
    !has_user && (url.scheme() == "https" || (url.scheme() == "http" && is_loopback))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(draft: PortalLinkDraft) -> Result<PortalLink, String> {
        let (digest, issuer) = (KeyDigest([1; 32]), KeyDigest([2; 32]));
        let checked = draft.check(digest, issuer, Timestamp::from_millis(1_000));
        checked.map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_session_lasts_four_hours_and_access_a_day_longer() {
        let hours = |hours: u64| Millis::from_seconds(hours * 3600);
        assert_eq!((SESSION_LASTS, LONGEST_ACCESS), (hours(4), hours(28)));
    }

    fn draft() -> PortalLinkDraft {
        PortalLinkDraft {
            tenant: "acme".parse().unwrap(),
            expires_in_seconds: 300,
            return_url: None,
            scopes: None,
        }
    }

    #[test]
    fn a_link_gives_the_whole_portal_by_default() {
        let link = check(draft()).unwrap();
        assert_eq!(link.scopes, [Scope::Manage]);
        assert_eq!(link.expires_at, Timestamp::from_millis(301_000));
    }

    #[test]
    fn a_link_is_short_lived_and_the_error_names_the_bounds() {
        for seconds in [0, 59, 86_401, u64::MAX] {
            let given = PortalLinkDraft {
                expires_in_seconds: seconds,
                ..draft()
            };
            let error = check(given).unwrap_err();
            assert!(error.contains("must be 60 to 86400"), "{error}");
        }
    }

    #[test]
    fn a_link_reads_or_manages_and_never_publishes() {
        for scopes in [
            vec![],
            vec![Scope::Publish],
            vec![Scope::Read, Scope::Publish],
            vec![Scope::Read; 3],
        ] {
            let given = PortalLinkDraft {
                scopes: Some(scopes),
                ..draft()
            };
            assert!(check(given).unwrap_err().contains("scopes"));
        }
    }

    #[test]
    fn the_portal_leads_back_to_web_pages_only() {
        let back = |text: &str| {
            check(PortalLinkDraft {
                return_url: Some(text.to_owned()),
                ..draft()
            })
        };
        for good in [
            "https://app.example/settings?tab=webhooks",
            "http://localhost:3000/",
            "http://127.0.0.1:3000/",
            "http://[::1]/",
        ] {
            assert_eq!(back(good).unwrap().return_url.as_deref(), Some(good));
        }
        for bad in [
            "",
            "/settings",
            "http://app.example/",
            "javascript:alert(1)",
            "data:text/html,x",
            "https://user:secret@app.example/",
            "https://user@app.example/",
            "https://:secret@app.example/",
            "https://",
        ] {
            assert!(back(bad).unwrap_err().contains("return_url"), "{bad}");
        }
    }

    #[test]
    fn the_return_url_is_limited_as_given_and_as_linked() {
        let url = |path: &str, filler: &str, chars: usize| {
            let start = format!("https://app.example/{path}");
            let left = chars - start.len();
            start + &filler.repeat(left / filler.len())
        };
        let fits = |url: &str| {
            let found = return_url(url);
            assert!(found.is_ok() || found == Err("must be at most 1000 characters".to_owned()));
            found.is_ok()
        };
        assert!(fits(&url("", "a", 1_000)));
        assert!(!fits(&url("", "a", 1_001)));
        // Linked without the dots.
        assert!(fits(&url("", "./", 1_000)));
        assert!(!fits(&url("a", "/..", 1_002)));
        // Linked as six characters.
        let escaped = |chars: usize| url("ä", "a", chars - 4);
        assert!(fits(&escaped(1_000)));
        assert!(!fits(&escaped(1_001)));
        assert!(!fits(&escaped(1_003)));
    }
}
