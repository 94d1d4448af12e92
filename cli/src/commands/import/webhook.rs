//! A webhook made of an endpoint of another service.

use std::collections::BTreeMap;

use postrider_domain::headers::CustomHeaders;
use postrider_domain::health::{StatusReason, WebhookStatus};
use postrider_domain::ids::{EventId, TenantId, WebhookId};
use postrider_domain::secret::SigningSecret;
use postrider_domain::time::Timestamp;
use postrider_domain::transfer::WebhookCopy;
use postrider_domain::webhook::MAX_NAME_CHARS;
use postrider_store_format::transfer::{TransferKey, WebhookRecord};
use serde_json::value::RawValue;

use super::report::Report;
use crate::edge;
use crate::failure::Failure;

/// The fastest `max_rate` of a gateway on AWS, which is slower than an embedded one.
const FASTEST_EVERYWHERE: u32 = 300;

#[derive(Debug)]
pub(super) struct NewWebhook {
    /// How messages name it.
    pub(super) name: String,
    pub(super) copy: WebhookCopy,
}

impl NewWebhook {
    /// Its record, sealed, with the name for messages.
    pub(super) fn record(self, key: &TransferKey) -> Result<(String, Box<RawValue>), Failure> {
        let sealed = key
            .vault()
            .and_then(|vault| WebhookRecord::of_copy(&vault, self.copy));
        let record = sealed.map_err(|error| Failure::of_files(&error))?;
        let raw = serde_json::value::to_raw_value(&record).map_err(std::io::Error::from)?;
        Ok((self.name, raw))
    }
}

/// Whether an endpoint sends, and why not.
pub(super) fn status_of(is_active: impl FnOnce() -> bool) -> (WebhookStatus, Option<StatusReason>) {
    if is_active() {
        (WebhookStatus::Active, None)
    } else {
        (WebhookStatus::Paused, Some(StatusReason::PausedByOperator))
    }
}

/// The same endpoint always becomes the same webhook, so that a repeated import finds it.
pub(super) fn id_of(service: &str, endpoint: &str) -> WebhookId {
    let derived = EventId::keyed(&TenantId::default(), service, endpoint);
    WebhookId::from_bytes(*derived.as_bytes())
}

/// A tenant's name made of the first text that can be one, in lower case and with `-` for what a name cannot contain.
pub(super) fn tenant_of(texts: &[Option<&str>]) -> Result<TenantId, Failure> {
    let slug = |text: &str| -> String {
        let lower = text.trim().to_lowercase();
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        lower
            .chars()
            .map(|c| if allowed(c) { c } else { '-' })
            .take(64)
            .collect()
    };
    let mut slugs = texts.iter().flatten().map(|text| slug(text));
    slugs
        .find_map(|slug| slug.parse().ok())
        .ok_or_else(|| Failure::Input("an application or owner has neither name nor id".to_owned()))
}

/// The tenant that the user chose. Endpoints of several customers must not share one: each would get the events of all.
pub(super) fn chosen_tenant(
    chosen: Option<&str>,
    groups: usize,
    what: &str,
) -> Result<Option<TenantId>, Failure> {
    let Some(chosen) = chosen else {
        return Ok(None);
    };
    if groups > 1 {
        return Err(Failure::Input(format!(
            "--tenant: there are {groups} {what}, and in one tenant each would get the events of all; leave it out"
        )));
    }
    let tenant = chosen.parse();
    tenant
        .map(Some)
        .map_err(|error| Failure::Input(format!("--tenant: {error}")))
}

pub(super) fn name_of(texts: &[Option<&str>], url: &str) -> String {
    let clean = |text: &str| -> String {
        let plain = text.chars().filter(|c| !c.is_control());
        plain
            .take(MAX_NAME_CHARS)
            .collect::<String>()
            .trim()
            .to_owned()
    };
    let mut names = texts.iter().flatten().map(|text| clean(text));
    names
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| clean(url))
}

/// The headers that a webhook can have. The others are reported.
pub(super) fn headers_of<'a>(
    given: impl IntoIterator<Item = (&'a str, &'a str)>,
    record: &str,
    report: &mut Report,
) -> BTreeMap<String, String> {
    let mut kept = BTreeMap::new();
    for (name, value) in given {
        match CustomHeaders::parse([(name, value)]) {
            Ok(_) => {
                kept.insert(name.to_owned(), value.to_owned());
            }
            Err(error) => report.not_carried(record, error.to_string()),
        }
    }
    kept
}

/// The `max_rate` for a limit of so many requests in so many seconds. Rates that not every gateway keeps to, and parts of a
/// request per second, are reported.
pub(super) fn max_rate_of(
    (requests, seconds): (u64, u64),
    record: &str,
    report: &mut Report,
) -> Option<u32> {
    if requests == 0 {
        return None;
    }
    let seconds = seconds.max(1);
    let rate = u32::try_from(requests / seconds).unwrap_or(u32::MAX);
    if rate > FASTEST_EVERYWHERE {
        let what = format!(
            "a rate limit of {rate} requests per second: it is {FASTEST_EVERYWHERE} per second now"
        );
        report.not_carried(record, what);
        return Some(FASTEST_EVERYWHERE);
    }
    let kept = rate.max(1);
    if u64::from(kept) * seconds != requests {
        let what = format!(
            "a rate limit of {requests} requests in {seconds} s: it is {kept} per second now"
        );
        report.not_carried(record, what);
    }
    Some(kept)
}

/// A new secret, for an endpoint whose own cannot be used.
pub(super) fn fresh_secret() -> Result<SigningSecret, Failure> {
    Ok(SigningSecret::from_key(&edge::seed()?))
}

/// An instant of another service, or now.
pub(super) fn instant(text: Option<&str>) -> Timestamp {
    let parsed = text.and_then(|text| Timestamp::parse_rfc3339(text).ok());
    parsed.unwrap_or_else(edge::now)
}
