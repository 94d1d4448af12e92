//! The filters of a list of deliveries, as form fields, query string and store filter.

use std::fmt::Display;
use std::str::FromStr;

use postrider_domain::delivery::Status;
use postrider_domain::invalid::Invalid;
use postrider_domain::time::{Millis, TimeError, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::history::Filter;
use url::form_urlencoded::Serializer;

use super::fields::Fields;
use super::text;

/// With more webhooks than this, the filter is a text field for the id instead of a drop-down.
const MAX_CHOICES: usize = 200;

/// The filters as entered; empty ones are ignored.
#[derive(Clone, Debug, Default)]
pub(super) struct FilterForm {
    pub(super) session_id: String,
    pub(super) status: String,
    pub(super) webhook_id: String,
    pub(super) event_type: String,
    pub(super) from: String,
    pub(super) to: String,
}

/// An option of a drop-down.
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) name: String,
    pub(super) is_chosen: bool,
}

impl FilterForm {
    pub(super) fn of(fields: &Fields) -> Self {
        Self {
            session_id: fields.text("session_id"),
            status: fields.text("status"),
            webhook_id: fields.text("webhook_id"),
            event_type: fields.text("event_type"),
            from: fields.text("from"),
            to: fields.text("to"),
        }
    }

    pub(super) fn with_status(mut self, status: Status) -> Self {
        status.as_str().clone_into(&mut self.status);
        self
    }

    /// The store filter.
    pub(super) fn check(&self) -> Result<Filter, Invalid> {
        let mut errors = Invalid::default();
        let filter = Filter {
            session_id: read(&mut errors, "session_id", &self.session_id),
            status: read(&mut errors, "status", &self.status),
            webhook_id: read(&mut errors, "webhook_id", &self.webhook_id),
            event_type: read(&mut errors, "event_type", &self.event_type),
            from: time(&mut errors, "from", &self.from),
            to: time(&mut errors, "to", &self.to),
        };
        errors.into_result().map(|()| filter)
    }

    /// A time as its form field needs it: a URL may include a time zone, which the field does not support.
    pub(super) fn field_time(&self, given: &str) -> String {
        moment(given).map_or_else(|_| given.to_owned(), text::field_time)
    }

    fn pairs(&self) -> [(&'static str, &str); 6] {
        [
            ("session_id", &self.session_id),
            ("status", &self.status),
            ("webhook_id", &self.webhook_id),
            ("event_type", &self.event_type),
            ("from", &self.from),
            ("to", &self.to),
        ]
    }

    /// The filters in use, for hidden fields.
    pub(super) fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.pairs()
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.given().next().is_none()
    }

    /// The query string, with one more pair unless its value is empty.
    pub(super) fn query(&self, more: (&str, &str)) -> String {
        let mut query = Serializer::new(String::new());
        for (name, value) in self.given().filter(|(name, _)| *name != more.0) {
            query.append_pair(name, value);
        }
        if !more.1.is_empty() {
            query.append_pair(more.0, more.1);
        }
        match query.finish() {
            query if query.is_empty() => String::new(),
            query => format!("?{query}"),
        }
    }

    /// The query string for a path that implies the status.
    pub(super) fn without_status(&self) -> String {
        self.query(("status", ""))
    }

    /// Completes the sentence "Dead letters …".
    pub(super) fn in_words(&self, webhooks: &[Webhook]) -> String {
        let named = |id: &str| {
            let found = webhooks.iter().find(|webhook| webhook.id.to_string() == id);
            found.map_or_else(|| id.to_owned(), |webhook| webhook.settings.name.clone())
        };
        let words: Vec<_> = self
            .given()
            .filter(|(name, _)| *name != "status")
            .map(|(name, value)| match name {
                "session_id" => format!("of session {value}"),
                "webhook_id" => format!("to {}", named(value)),
                "event_type" => format!("of type {value}"),
                "from" => format!("accepted since {value} UTC"),
                _ => format!("accepted before {value} UTC"),
            })
            .collect();
        words.join(", ")
    }

    pub(super) fn statuses(&self) -> Vec<Choice> {
        Status::ALL
            .map(|status| Choice {
                value: status.as_str().to_owned(),
                name: match status {
                    Status::Pending => "Pending",
                    Status::Failed => "Retrying",
                    Status::Delivered => "Delivered",
                    Status::Dead => "Dead",
                }
                .to_owned(),
                is_chosen: self.status == status.as_str(),
            })
            .into()
    }

    /// The webhooks to choose from; none if there are too many.
    pub(super) fn webhooks(&self, webhooks: &[Webhook]) -> Vec<Choice> {
        if webhooks.len() > MAX_CHOICES {
            return Vec::new();
        }
        let choice = |webhook: &Webhook| {
            let value = webhook.id.to_string();
            Choice {
                is_chosen: self.webhook_id == value,
                name: webhook.settings.name.clone(),
                value,
            }
        };
        webhooks.iter().map(choice).collect()
    }

    /// Time ranges as links: name and query string.
    pub(super) fn recent(&self, now: Timestamp) -> Vec<(&'static str, String)> {
        [
            ("Last hour", 3600),
            ("Last 24 hours", 86_400),
            ("Last 7 days", 604_800),
        ]
        .map(|(name, seconds)| {
            let mut form = self.clone();
            form.to.clear();
            form.from = text::field_time(now.minus(Millis::from_seconds(seconds)));
            (name, form.query(("", "")))
        })
        .into()
    }
}

fn read<T: FromStr<Err: Display>>(errors: &mut Invalid, name: &str, text: &str) -> Option<T> {
    let given = (!text.is_empty()).then(|| text.parse())?;
    errors.take(name, given)
}

fn time(errors: &mut Invalid, name: &str, text: &str) -> Option<Timestamp> {
    let given = (!text.is_empty()).then(|| moment(text))?;
    errors.take(name, given)
}

/// An RFC 3339 time, or the value of a date and time field, which is in UTC.
fn moment(text: &str) -> Result<Timestamp, TimeError> {
    let read = |text: &str| Timestamp::parse_rfc3339(text);
    match text.len() {
        10 => read(&format!("{text}T00:00:00Z")),
        16 => read(&format!("{text}:00Z")),
        19 | 23 => read(&format!("{text}Z")),
        _ => read(text),
    }
    .or_else(|_| read(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_may_come_from_a_field_or_a_url() {
        let at = Timestamp::parse_rfc3339("2026-02-21T10:00:00Z").unwrap();
        for text in [
            "2026-02-21T10:00",
            "2026-02-21T10:00:00",
            "2026-02-21T10:00:00.000",
            "2026-02-21T10:00:00Z",
            "2026-02-21T12:00:00+02:00",
        ] {
            assert_eq!(moment(text), Ok(at), "{text}");
        }
        assert!(moment("2026-02-21").is_ok());
        for text in ["", "yesterday", "2026-13-01", "9999999999999999"] {
            assert!(moment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_filter_survives_its_query_string() {
        let fields = Fields::parse(b"session_id=a%26b&status=dead&webhook_id=&cursor=x");
        let form = FilterForm::of(&fields);
        assert_eq!(form.query(("", "")), "?session_id=a%26b&status=dead");
        assert_eq!(
            form.query(("cursor", "y z")),
            "?session_id=a%26b&status=dead&cursor=y+z"
        );
        assert_eq!(form.query(("status", "")), "?session_id=a%26b");
        let filter = form.check().unwrap();
        assert_eq!(filter.status, Some(Status::Dead));
        assert_eq!(FilterForm::default().query(("", "")), "");
    }

    #[test]
    fn every_invalid_filter_is_reported() {
        let fields = Fields::parse(b"status=lost&webhook_id=x&from=soon&session_id=%00");
        let errors = FilterForm::of(&fields).check().unwrap_err().into_fields();
        let names: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(names, ["session_id", "status", "webhook_id", "from"]);
    }
}
