//! The form fields of a source.

use postrider_api_types::json::Strict;
use postrider_api_types::unique_json::UniqueJson;
use postrider_domain::route::RouteDraft;
use postrider_domain::scheme::{CUSTOM, Scheme};
use postrider_domain::secret::UncheckedSecret;
use postrider_domain::source::{MAX_ROUTES, SourceDraft, SourceSettings};
use postrider_domain::webhook::Webhook;
use serde_json::Value;

use crate::fields::Fields;
use crate::filter::Choice;

/// Empty rows for more routes.
const SPARE: usize = 2;
/// With more webhooks than this, a route's webhook is a text field for the id: a drop-down per row would be most of the
/// page.
const MAX_CHOICES: usize = 50;

#[derive(Default)]
pub(super) struct SourceForm {
    pub(super) name: String,
    pub(super) scheme: String,
    pub(super) secret: String,
    pub(super) public_url: String,
    pub(super) verify_token: String,
    pub(super) routes: Vec<RouteDraft>,
}

/// The fields of one route.
pub(super) struct RouteFields {
    pub(super) number: usize,
    pub(super) event_type: String,
    pub(super) filter: String,
    pub(super) intent: String,
    pub(super) session: String,
    pub(super) webhook_id: String,
    /// Empty if there are too many to choose from.
    pub(super) webhooks: Vec<Choice>,
}

impl SourceForm {
    pub(super) fn from_fields(fields: &Fields) -> Self {
        Self {
            name: fields.text("name"),
            scheme: fields.text("scheme"),
            secret: fields.text("secret"),
            public_url: fields.text("public_url"),
            verify_token: fields.text("verify_token"),
            // One more than the limit, so too many are rejected instead of cut.
            routes: (0..=MAX_ROUTES).filter_map(|n| route(fields, n)).collect(),
        }
    }

    /// The form of an existing source, without its secrets.
    pub(super) fn of(settings: &SourceSettings) -> Self {
        let draft = SourceDraft::from(settings);
        Self {
            name: draft.name,
            scheme: draft.scheme,
            public_url: draft.public_url.unwrap_or_default(),
            routes: draft.routes,
            ..Self::default()
        }
    }

    /// Applies the form to a draft. Everything else is kept, including a token whose field is empty.
    pub(super) fn apply_to(&self, draft: SourceDraft) -> SourceDraft {
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        let token = given(&self.verify_token).map(UncheckedSecret::from);
        SourceDraft {
            name: self.name.clone(),
            public_url: given(&self.public_url),
            verify_token: token.or(draft.verify_token),
            routes: self.routes.clone(),
            ..draft
        }
    }

    /// The schemes to choose from; a custom scheme cannot be created here.
    pub(super) fn schemes(&self) -> Vec<Choice> {
        let names = Scheme::names().filter(|name| *name != CUSTOM);
        let choice = |name: &str| Choice {
            value: name.to_owned(),
            name: name.to_owned(),
            is_chosen: self.scheme == name,
        };
        names.map(choice).collect()
    }

    /// The routes, and empty rows for more.
    pub(super) fn routes(&self, webhooks: &[Webhook]) -> Vec<RouteFields> {
        let spare = std::iter::repeat_n(RouteDraft::default(), SPARE);
        let lines = self.routes.iter().cloned().chain(spare).take(MAX_ROUTES);
        let line = |(number, route): (usize, RouteDraft)| RouteFields {
            number,
            webhooks: choices(webhooks, &route.webhook_id),
            event_type: route.event_type,
            filter: route.filter.as_ref().map(written).unwrap_or_default(),
            intent: route.intent,
            session: route.target_session.unwrap_or_default(),
            webhook_id: route.webhook_id,
        };
        lines.enumerate().map(line).collect()
    }
}

fn route(fields: &Fields, n: usize) -> Option<RouteDraft> {
    let field = |name: &str| fields.get(&format!("routes[{n}].{name}"));
    let names = [
        "event_type",
        "filter",
        "intent",
        "target_session",
        "webhook_id",
    ];
    let [event_type, filter, intent, session, webhook_id] = names.map(field);
    // A webhook alone is not a route: the drop-down may preselect one.
    let is_empty = [event_type, filter, intent, session]
        .iter()
        .all(Option::is_none);
    let text = |field: Option<&str>| field.unwrap_or_default().to_owned();
    (!is_empty).then(|| RouteDraft {
        event_type: text(event_type),
        filter: filter.map(parsed),
        intent: text(intent),
        target_session: session.map(str::to_owned),
        webhook_id: text(webhook_id),
    })
}

/// A text that is not JSON is kept as it is: the check rejects it, and the form shows it again.
fn parsed(text: &str) -> Value {
    let parsed = serde_json::from_str(text).map(UniqueJson::value);
    parsed.unwrap_or_else(|_| text.into())
}

fn written(filter: &Value) -> String {
    filter
        .as_str()
        .map_or_else(|| filter.to_string(), str::to_owned)
}

/// The webhooks to choose from. The current one is included even if it was deleted.
fn choices(webhooks: &[Webhook], chosen: &str) -> Vec<Choice> {
    if webhooks.len() > MAX_CHOICES {
        return Vec::new();
    }
    let mut choices: Vec<_> = webhooks
        .iter()
        .map(|webhook| {
            let value = webhook.id.to_string();
            Choice {
                is_chosen: value == chosen,
                name: webhook.settings.name.clone(),
                value,
            }
        })
        .collect();
    if !chosen.is_empty() && !choices.iter().any(|choice| choice.is_chosen) {
        choices.push(Choice {
            value: chosen.to_owned(),
            name: format!("deleted ({chosen})"),
            is_chosen: true,
        });
    }
    choices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_rows_are_ignored_and_a_stored_token_is_kept() {
        let query = "name=n&routes[0].webhook_id=wh_1&routes[3].event_type=push&routes[3].intent=build&routes[3].webhook_id=wh_2";
        let form = SourceForm::from_fields(&Fields::parse(query.as_bytes()));
        let stored = SourceDraft {
            scheme: "meta".to_owned(),
            verify_token: Some(UncheckedSecret::from("token".to_owned())),
            ..SourceDraft::default()
        };
        let changed = form.apply_to(stored.clone());
        assert_eq!(changed.routes.len(), 1);
        assert_eq!(changed.routes[0].webhook_id, "wh_2");
        assert_eq!(changed.routes[0].target_session, None);
        assert_eq!(changed.scheme, "meta");
        assert_eq!(changed.verify_token, stored.verify_token);
        assert_eq!(form.routes(&[]).len(), 1 + SPARE);
    }

    #[test]
    fn a_filter_is_shown_again_as_it_was_entered() {
        for (given, shown) in [
            ("{\"a\": [1]}", "{\"a\":[1]}"),
            ("{oops", "{oops"),
            ("{\"a\": [1], \"a\": [2]}", "{\"a\": [1], \"a\": [2]}"),
        ] {
            let query = format!("routes[0].filter={given}");
            let form = SourceForm::from_fields(&Fields::parse(query.as_bytes()));
            assert_eq!(form.routes(&[])[0].filter, shown);
        }
    }

    #[test]
    fn too_many_routes_are_not_cut() {
        let lines: Vec<_> = (0..=MAX_ROUTES)
            .map(|n| format!("routes[{n}].intent=i"))
            .collect();
        let form = SourceForm::from_fields(&Fields::parse(lines.join("&").as_bytes()));
        let draft = form.apply_to(SourceDraft::default());
        assert_eq!(draft.routes.len(), MAX_ROUTES + 1);
    }
}
