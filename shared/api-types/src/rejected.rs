//! Rejected inbound requests and what is wrong with them.

use postrider_domain::diagnosis::{BodyChange, Finding, UrlChange};
use postrider_domain::inbound::Rejection;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::parameters;
use crate::schema;
use crate::time::ApiTime;
use crate::word::Word;

/// How many requests a list has by default.
pub const DEFAULT_LIST: usize = 20;
pub const MAX_LIST: usize = 100;

parameters! {
    /// The size of a list.
    pub struct RejectedParameters as "RejectedParameters" {
        /// The maximum number of requests; 20 by default.
        limit: schema::RejectedLimit,
    }
}

/// A request that was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = RejectedRequest)]
pub struct RejectedRequestView {
    #[schema(value_type = schema::RejectedId, example = "rfd_aaaadhubu2qjqaaaaaaaaaaaaa")]
    pub id: String,
    pub at: ApiTime,
    /// The reason, for programs.
    #[schema(value_type = schema::RejectionReason)]
    pub reason: Word<Rejection>,
    /// The reason, in one sentence.
    pub detail: String,
    pub method: String,
    pub path: String,
    /// The names of its headers, without their values.
    #[serde(default)]
    #[schema(required)]
    pub header_names: Vec<String>,
    #[schema(required)]
    pub content_type: Option<String>,
    /// The length of its body; for one that was too large, the length that its sender declared.
    pub body_bytes: u64,
}

/// The stored requests of a source, and how many were not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RejectedRequestList {
    pub items: Vec<RejectedRequestView>,
    /// How many were stored since the source was created; the last 100 of the last 7 days are still there.
    #[serde(default)]
    #[schema(required)]
    pub kept: u64,
    /// How many more were only counted, because too many arrived within a minute.
    #[serde(default)]
    #[schema(required)]
    pub counted: u64,
    /// Always `null`: this list is not paginated.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

/// A rejected request with its content and its diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RejectedRequestDetail {
    #[serde(flatten)]
    pub rejected: RejectedRequestView,
    #[schema(required)]
    pub query: Option<String>,
    #[serde(default)]
    #[schema(required)]
    pub headers: Vec<RejectedHeaderView>,
    /// The body; `null` if it is not UTF-8.
    #[schema(required)]
    pub body: Option<String>,
    /// The body in base64, if it is not UTF-8.
    #[schema(required)]
    pub body_base64: Option<String>,
    /// Whether it was truncated, because it was larger than the 32 KiB that are stored.
    #[serde(default)]
    #[schema(required)]
    pub is_cut: bool,
    /// What would have matched.
    #[serde(default)]
    #[schema(required)]
    pub findings: Vec<FindingView>,
}

impl From<RejectedRequestView> for RejectedRequestDetail {
    /// The request as a list shows it, without its content.
    fn from(rejected: RejectedRequestView) -> Self {
        Self {
            rejected,
            query: None,
            headers: Vec::new(),
            body: None,
            body_base64: None,
            is_cut: false,
            findings: Vec::new(),
        }
    }
}

/// A header of a rejected request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = RejectedHeader)]
pub struct RejectedHeaderView {
    pub name: String,
    /// `null` if it may be a secret: `authorization`, cookies, and the header in which a scheme sends the secret
    /// itself.
    #[schema(required)]
    pub value: Option<String>,
}

/// Something that would have matched, or that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Finding)]
pub struct FindingView {
    /// The finding in one sentence.
    pub text: String,
    /// What to do, one step per entry.
    #[serde(default)]
    #[schema(required)]
    pub advice: Vec<String>,
    /// The kind of finding, for programs.
    #[serde(flatten)]
    pub kind: FindingKind,
}

impl From<&Finding> for FindingView {
    fn from(finding: &Finding) -> Self {
        Self {
            text: finding.to_string(),
            advice: Vec::new(),
            kind: finding.into(),
        }
    }
}

/// What a diagnosis found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FindingKind {
    /// It matches now.
    Matches,
    /// The signature is valid, but the timestamp is this many seconds after the gateway's time, or before it if
    /// negative.
    Clock { seconds_off: i64 },
    /// The signature is valid, but the timestamp is missing or malformed.
    BadTime,
    /// It was signed with a secret that has expired.
    OldSecret,
    /// It was signed with the source's secret in another scheme.
    OtherScheme { scheme: String },
    /// The signature is valid for the body as it was before this change.
    ChangedBody {
        #[schema(value_type = schema::BodyChange)]
        change: Word<BodyChange>,
    },
    /// The signature is valid for a URL other than the source's.
    ChangedUrl {
        #[schema(value_type = schema::UrlChange)]
        change: Word<UrlChange>,
    },
    /// Something that the scheme requires is missing.
    Missing { expected: String },
    /// There is a value in place of a signature, but it is not in the signature's format.
    OtherForm { expected: String },
    /// The stored body is not complete, so no signature over it can be checked.
    BodyCut,
    /// No check matched: the sender used a different secret or signed a different body.
    Nothing,
    /// A finding that this client does not know; the gateway never sends it.
    #[serde(other)]
    Unknown,
}

impl From<&Finding> for FindingKind {
    fn from(finding: &Finding) -> Self {
        match finding {
            Finding::Matches => Self::Matches,
            Finding::Clock { seconds_off } => Self::Clock {
                seconds_off: *seconds_off,
            },
            Finding::BadTime => Self::BadTime,
            Finding::OldSecret => Self::OldSecret,
            Finding::OtherScheme { scheme } => Self::OtherScheme {
                scheme: (*scheme).to_owned(),
            },
            Finding::ChangedBody { change } => Self::ChangedBody {
                change: (*change).into(),
            },
            Finding::ChangedUrl { change } => Self::ChangedUrl {
                change: (*change).into(),
            },
            Finding::Missing { expected } => Self::Missing {
                expected: expected.clone(),
            },
            Finding::OtherForm { expected } => Self::OtherForm {
                expected: expected.clone(),
            },
            Finding::BodyCut => Self::BodyCut,
            Finding::Nothing => Self::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_of_a_newer_gateway_is_read_with_its_text() {
        let json = r#"{"text":"something new","kind":"of_tomorrow","since":3}"#;
        let finding: FindingView = serde_json::from_str(json).unwrap();
        assert_eq!(finding.kind, FindingKind::Unknown);
        assert_eq!(finding.text, "something new");
    }

    #[test]
    fn a_finding_is_read_as_it_is_written() {
        for finding in [
            Finding::Clock { seconds_off: -3 },
            Finding::OtherScheme { scheme: "stripe" },
            Finding::ChangedBody {
                change: BodyChange::SortedSpaced,
            },
            Finding::BodyCut,
        ] {
            let view = FindingView::from(&finding);
            let json = serde_json::to_string(&view).unwrap();
            assert_eq!(serde_json::from_str::<FindingView>(&json).unwrap(), view);
        }
        let finding = Finding::ChangedUrl {
            change: UrlChange::PortCut,
        };
        let json = serde_json::to_value(FindingView::from(&finding)).unwrap();
        assert_eq!(json["kind"], "changed_url");
        assert_eq!(json["change"], "port_cut");
    }
}
