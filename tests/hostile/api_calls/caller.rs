//! Who calls.

use arbitrary::Arbitrary;
use http::Method;
use postrider_domain::key::Scope;

use super::stage::Credentials;

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    Nobody,
    /// With a key and a cookie that the gateway never issued.
    Stranger,
    Publisher,
    Reader,
    Manager,
    Operator,
    Customer,
    CustomerReader,
}

impl Caller {
    pub(super) const ALL: [Self; 8] = [
        Self::Nobody,
        Self::Stranger,
        Self::Publisher,
        Self::Reader,
        Self::Manager,
        Self::Operator,
        Self::Customer,
        Self::CustomerReader,
    ];

    /// The tenant and the scopes of the caller's key.
    pub(super) fn rights(self) -> Option<(&'static str, &'static [Scope])> {
        match self {
            Self::Nobody | Self::Stranger => None,
            Self::Publisher => Some(("default", &[Scope::Publish])),
            Self::Reader => Some(("default", &[Scope::Read])),
            Self::Manager => Some(("default", &[Scope::Manage])),
            Self::Operator => Some(("default", &Scope::ALL)),
            Self::Customer => Some(("acme", &Scope::ALL)),
            Self::CustomerReader => Some(("acme", &[Scope::Read])),
        }
    }

    /// What a caller without a key sends.
    pub(super) fn invented(self) -> Credentials {
        if self == Self::Stranger {
            Credentials {
                token: "pr_invented".to_owned(),
                cookie: "postrider_session=default.AAAA; postrider_portal=acme.AAAA".to_owned(),
            }
        } else {
            Credentials::default()
        }
    }

    /// Whether a successful call of the API may have this method and path.
    pub(super) fn may_call(self, method: &Method, path: &str) -> bool {
        if !path.starts_with("/v1/") {
            return true;
        }
        match self {
            Self::Nobody | Self::Stranger => false,
            Self::Publisher => *method == Method::POST && path == "/v1/events",
            Self::Reader | Self::CustomerReader => {
                let tests = ["/v1/filters/test", "/v1/templates/test"];
                method.is_safe() || tests.contains(&path)
            }
            Self::Manager | Self::Operator | Self::Customer => true,
        }
    }

    /// Whether nothing may be stored for this caller.
    pub(super) fn is_harmless(self) -> bool {
        match self {
            Self::Nobody | Self::Stranger | Self::Reader | Self::CustomerReader => true,
            Self::Publisher | Self::Manager | Self::Operator | Self::Customer => false,
        }
    }
}
