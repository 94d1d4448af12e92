//! The filters of a list of deliveries, as form fields, query string and store filter.

use postrider_api_types::filter::FilterParameters;
use postrider_api_types::parameters::Parameters;
use postrider_domain::delivery::Status;
use postrider_domain::invalid::Invalid;
use postrider_domain::time::{Millis, TimeError, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::history::Filter;
use url::form_urlencoded::Serializer;

use super::fields::Fields;
use super::text;

/// With more webhooks than this, the filter is a text field for the id instead of a drop-down.
pub(super) const MAX_CHOICES: usize = 200;

/// The filters as entered; empty ones are ignored.
#[derive(Clone, Debug, Default)]
pub(super) struct FilterForm(FilterParameters);

/// An option of a drop-down.
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) name: String,
    pub(super) is_chosen: bool,
}

impl FilterForm {
    pub(super) fn of(fields: &Fields) -> Self {
        let mut parameters = FilterParameters::default();
        for name in FilterParameters::names() {
            if let Some(place) = parameters.place(name) {
                *place = fields.get(name).map(str::to_owned);
            }
        }
        Self(parameters)
    }

    pub(super) fn with_status(mut self, status: Status) -> Self {
        self.0.status = Some(status.as_str().to_owned());
        self
    }

    /// The store filter.
    pub(super) fn check(&self) -> Result<Filter, Invalid> {
        let mut errors = Invalid::default();
        let mut parameters = self.0.clone();
        for text in [&mut parameters.from, &mut parameters.to]
            .into_iter()
            .flatten()
        {
            if let Ok(at) = moment(text) {
                *text = at.to_string();
            }
        }
        let filter = parameters.check("", &mut errors);
        errors.into_result().map(|()| filter)
    }

    /// The value of a filter; empty if it is not in use.
    pub(super) fn value(&self, name: &str) -> &str {
        let found = self.given().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value)
    }

    /// A time as its form field needs it: a URL may include a time zone, which the field does not support.
    pub(super) fn field_time(&self, name: &str) -> String {
        let given = self.value(name);
        moment(given).map_or_else(|_| given.to_owned(), text::field_time)
    }

    /// The filters in use, for hidden fields.
    pub(super) fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.pairs()
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
                "to" => format!("accepted before {value} UTC"),
                other => format!("with {other} {value}"),
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
                    Status::Failed => "Retrying (failed)",
                    Status::Delivered => "Delivered",
                    Status::Dead => "Dead",
                }
                .to_owned(),
                is_chosen: self.value("status") == status.as_str(),
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
                is_chosen: self.value("webhook_id") == value,
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
            let from = text::field_time(now.minus(Millis::from_seconds(seconds)));
            let form = Self(FilterParameters {
                from: Some(from),
                to: None,
                ..self.0.clone()
            });
            (name, form.query(("", "")))
        })
        .into()
    }
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
