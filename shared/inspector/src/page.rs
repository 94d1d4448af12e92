//! The frame that all pages share.

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use postrider_domain::key::Scope;
use postrider_domain::notification::NotificationKind;

use super::assets;
pub(super) use super::error::PageError;
use super::fields::Fields;
use super::live::Place;
use super::session::Viewer;

/// The sections, in menu order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Overview,
    Deliveries,
    Dead,
    Webhooks,
    Sources,
    Keys,
    /// Not in the menu.
    Elsewhere,
}

/// A menu entry.
pub(super) struct Link {
    pub(super) path: &'static str,
    pub(super) name: &'static str,
    /// The keyboard shortcut after `g`.
    pub(super) key: char,
    /// An SVG path.
    pub(super) icon: &'static str,
    pub(super) is_here: bool,
}

/// The logged-in key.
pub(super) struct Who {
    pub(super) name: String,
    pub(super) tenant: String,
    pub(super) may_change: bool,
}

pub(super) struct Frame {
    pub(super) title: String,
    pub(super) who: Option<Who>,
    /// The position in the notification stream from which a live page follows it.
    pub(super) live: Option<u64>,
    /// The result of the last action.
    pub(super) status_message: Option<String>,
    section: Section,
}

impl Frame {
    /// The frame of a page for a logged-in user.
    pub(super) fn new(title: impl Into<String>, section: Section, viewer: &Viewer) -> Self {
        let who = Who {
            name: viewer.key().name.clone(),
            tenant: viewer.tenant().to_string(),
            may_change: viewer.key().allows(Scope::Manage),
        };
        Self {
            title: title.into(),
            who: Some(who),
            live: None,
            status_message: None,
            section,
        }
    }

    /// The frame of a page without login.
    pub(super) fn bare(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            who: None,
            live: None,
            status_message: None,
            section: Section::Elsewhere,
        }
    }

    /// Makes the page update live, from this position in the notification stream.
    pub(super) const fn live(mut self, Place(seq): Place) -> Self {
        self.live = Some(seq);
        self
    }

    /// Shows the result of the last action, which the query parameter `done` names.
    pub(super) fn after(mut self, query: &Fields) -> Self {
        let done = query.get("done");
        self.status_message = done.and_then(|done| status_message(done, query));
        self
    }

    /// Whether to show buttons that change something.
    pub(super) fn may_change(&self) -> bool {
        self.who.as_ref().is_some_and(|who| who.may_change)
    }

    /// The notifications on which a live page reloads.
    pub(super) fn notification_kinds(&self) -> String {
        NotificationKind::ALL
            .map(NotificationKind::as_str)
            .join(" ")
    }

    pub(super) fn style(&self) -> String {
        assets::path("inspector.css")
    }

    pub(super) fn script(&self) -> String {
        assets::path("inspector.js")
    }

    pub(super) fn icon(&self) -> String {
        assets::path("icon.svg")
    }

    pub(super) fn menu(&self) -> Vec<Link> {
        [
            (Section::Overview, super::HOME, "Overview", 'o', "M3 16.5V10m5 6.5v-13m5 13V8m5 8.5V5"),
            (
                Section::Deliveries,
                "/inspector/deliveries",
                "Deliveries",
                'd',
                "M3 10h13M11.5 5.5 16 10l-4.5 4.5",
            ),
            (Section::Dead, "/inspector/dead", "Dead letters", 'l', "M5.5 5.5l9 9m0-9l-9 9"),
            (
                Section::Webhooks,
                "/inspector/webhooks",
                "Webhooks",
                'w',
                "M8 12l4-4M7.5 8.5 5 11a3 3 0 0 0 4.2 4.2l2.3-2.3m1-1.4L15 9a3 3 0 0 0-4.2-4.2L8.5 7",
            ),
            (Section::Sources, "/inspector/sources", "Sources", 's', "M10 3v9M6.5 8.5 10 12l3.5-3.5M3 12.5V17h14v-4.5"),
            (Section::Keys, "/inspector/keys", "API keys", 'k', "M12.7 11.3a4 4 0 1 0-4-4c0 .5.1 1 .3 1.4L3 14.7V17h3l.8-.8v-1.7h1.7v-1.7h1.5l1.3-1.8c.4.2.9.3 1.4.3z"),
        ]
        .map(|(section, path, name, key, icon)| Link {
            path,
            name,
            key,
            icon,
            is_here: section == self.section,
        })
        .into()
    }
}

/// The result of an action, in a sentence. Only fixed texts, never text from the URL.
fn status_message(done: &str, query: &Fields) -> Option<String> {
    let number = |name: &str| query.get(name).and_then(|text| text.parse::<u32>().ok());
    let message = match done {
        "retried" => "The delivery is pending and due now. Its history is kept.",
        "held" => {
            "The delivery is pending, and on hold until its webhook is resumed. Its history is kept."
        }
        "paused" => "Webhook paused. Deliveries are on hold until you resume it.",
        "resumed" => "Webhook resumed. Deliveries on hold go out now; dead ones stay dead.",
        "saved" => "Saved. Changes apply from the next attempt.",
        "revoked" => "API key revoked.",
        "webhook-deleted" => "Webhook deleted. Its pending deliveries will be marked dead.",
        "source-created" => "Source created. Give its URL to the sender.",
        "source-saved" => "Saved. Changes apply from the next request.",
        "source-deleted" => "Source deleted. Its events are kept.",
        "rotated" => "Secret rotated. The previous one stays valid for 24 hours.",
        "cancelled" => "Bulk retry cancelled. Deliveries already requeued are not undone.",
        "selected" => {
            let (done, failed) = (number("n")?, number("failed").unwrap_or(0));
            let not = match failed {
                0 => String::new(),
                n => format!(" {n} not requeued: being attempted, or the webhook is disabled."),
            };
            return Some(format!("{done} requeued.{not}"));
        }
        _ => return None,
    };
    Some(message.to_owned())
}

pub(super) fn html(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => (status, Html(text)).into_response(),
        // Templates cannot fail; the `Display` of a value could.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
