//! Lists and selects sample events.

use postrider_domain::scheme::{At, CUSTOM, Scheme};
use postrider_samples as sample;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{Output, printable_line};
use crate::table::{Mark, Table};

const SHOWN_BODY_CHARS: usize = 60;
const JSON: &str = "application/json";

/// An event to sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// The event type, as far as it is known.
    pub(super) name: String,
    /// Headers in addition to those of the signature.
    pub(super) headers: Vec<(String, String)>,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
    /// Whether the user gave the body, so that it is not modified.
    pub(super) is_given: bool,
}

pub(super) fn list(scheme: Option<&str>, out: Output) -> Result<(), Failure> {
    if scheme == Some(CUSTOM) {
        return out.line(
            "The scheme `custom` has one sample, of type `unknown`. Use --body to send your own.",
        );
    }
    let wanted = Scheme::all().filter(|row| scheme.is_none_or(|name| row.name == name));
    let samples = wanted.flat_map(|row| sample::events(row).iter().map(|event| (row.name, event)));
    if out.wants_json() {
        let documents: Vec<Value> = samples
            .map(|(scheme, event)| json!({ "scheme": scheme, "type": event.name, "content_type": event.content_type, "body": event.body }))
            .collect();
        return out.value(&json!({ "items": documents }));
    }
    let mut table = Table::new(["SCHEME", "TYPE", "BODY"]);
    for (scheme, event) in samples {
        let body = printable_line(event.body, SHOWN_BODY_CHARS);
        table.row(Mark::None, [scheme.to_owned(), event.name.to_owned(), body]);
    }
    out.line(table.show(out))
}

/// The sample of this type, with the given body if any. With a body, the type need not be that of a sample.
pub(super) fn choose(
    scheme: &Scheme,
    named: Option<&str>,
    body: Option<Vec<u8>>,
) -> Result<Event, Failure> {
    let samples = sample::events(scheme);
    let sample = match named {
        Some(name) => samples.iter().find(|event| event.name == name),
        None if body.is_some() => None,
        None => samples.first(),
    };
    let is_given = body.is_some();
    match (sample, body) {
        (Some(sample), body) => Ok(Event {
            name: sample.name.to_owned(),
            headers: sample
                .headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            content_type: sample.content_type.to_owned(),
            body: body.unwrap_or_else(|| sample.body.as_bytes().to_vec()),
            is_given,
        }),
        (None, Some(body)) => Ok(Event {
            name: named.unwrap_or("event").to_owned(),
            headers: type_header(scheme, named)?.into_iter().collect(),
            content_type: JSON.to_owned(),
            body,
            is_given,
        }),
        (None, None) => {
            let known: Vec<&str> = samples.iter().map(|event| event.name).collect();
            Err(Failure::Input(format!(
                "`{}` has no sample of type `{}`, only {}. To send another type, set --body FILE",
                scheme.name,
                named.unwrap_or_default(),
                known.join(", ")
            )))
        }
    }
}

/// The header with the event type, if the scheme has one. If the scheme takes the part after the first dot from the body,
/// the header has only the first part.
fn type_header(scheme: &Scheme, named: Option<&str>) -> Result<Option<(String, String)>, Failure> {
    let Some(At::Header(header)) = scheme.event_type.first().map(|field| &field.at) else {
        return Ok(None);
    };
    let named = named.ok_or_else(|| {
        Failure::Input(format!(
            "TYPE is required: `{}` sends it in the header `{header}`, not in the body",
            scheme.name
        ))
    })?;
    let value = match (&scheme.event_suffix, named.split_once('.')) {
        (Some(_), Some((first, _))) => first,
        (Some(_), None) | (None, _) => named,
    };
    Ok(Some((header.to_string(), value.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn github(named: Option<&str>, body: Option<&str>) -> Result<Event, Failure> {
        let scheme = Scheme::named("github").unwrap();
        choose(&scheme, named, body.map(|body| body.as_bytes().to_vec()))
    }

    fn header(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), value.to_owned())]
    }

    #[test]
    fn a_sample_is_selected_by_its_type() {
        let push = github(Some("push"), None).unwrap();
        assert_eq!(push.headers, header("x-github-event", "push"));
        assert_eq!(github(None, None).unwrap().name, "pull_request.opened");
        let unknown = github(Some("fork"), None).unwrap_err().to_string();
        assert!(
            unknown.contains("push") && unknown.contains("--body"),
            "{unknown}"
        );
    }

    #[test]
    fn a_given_body_may_have_any_type() {
        let own = github(Some("issues.closed"), Some("{}")).unwrap();
        assert_eq!(
            (own.headers, own.is_given),
            (header("x-github-event", "issues"), true)
        );
        let known = github(Some("push"), Some("{}")).unwrap();
        assert_eq!(
            (known.body.as_slice(), known.headers),
            (&b"{}"[..], header("x-github-event", "push"))
        );
        assert!(
            github(None, Some("{}"))
                .unwrap_err()
                .to_string()
                .contains("TYPE")
        );
        let stripe = Scheme::named("stripe").unwrap();
        assert!(
            choose(&stripe, None, Some(Vec::new()))
                .unwrap()
                .headers
                .is_empty()
        );
    }
}
