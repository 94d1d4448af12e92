//! What all pages share: the frame around them.

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use postrider_domain::key::Scope;

use super::assets;
use super::fields::Fields;
use super::live::Place;
use super::session::Viewer;
pub(super) use super::trouble::Trouble;

/// The parts of the Inspector, in the order of the menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Overview,
    Deliveries,
    Dead,
    Webhooks,
    Sources,
    Keys,
    /// In no menu.
    Elsewhere,
}

/// One entry of the menu.
pub(super) struct Link {
    pub(super) path: &'static str,
    pub(super) name: &'static str,
    /// The key that follows `g`.
    pub(super) key: char,
    /// What its picture is drawn by.
    pub(super) icon: &'static str,
    pub(super) is_here: bool,
}

/// Who looks, as the frame shows it.
pub(super) struct Who {
    pub(super) name: String,
    pub(super) tenant: String,
    pub(super) may_change: bool,
}

/// The frame of a page.
pub(super) struct Frame {
    pub(super) title: String,
    pub(super) who: Option<Who>,
    /// For a page with parts that change by themselves: it was made after this announcement.
    pub(super) live: Option<u64>,
    /// What an action came to.
    pub(super) status_message: Option<String>,
    section: Section,
}

impl Frame {
    /// The frame of a page that somebody looks at who has logged in.
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

    /// The frame of a page for anybody.
    pub(super) fn bare(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            who: None,
            live: None,
            status_message: None,
            section: Section::Elsewhere,
        }
    }

    /// With parts that change by themselves, read after this place in what is announced.
    pub(super) const fn live(mut self, Place(seq): Place) -> Self {
        self.live = Some(seq);
        self
    }

    /// With what the last action came to, which the address says in a word.
    pub(super) fn after(mut self, asked: &Fields) -> Self {
        self.status_message = asked.get("done").and_then(|word| said(word, asked));
        self
    }

    /// Whether buttons are shown.
    pub(super) fn may_change(&self) -> bool {
        self.who.as_ref().is_some_and(|who| who.may_change)
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
            (Section::Keys, "/inspector/keys", "Keys", 'k', "M12.7 11.3a4 4 0 1 0-4-4c0 .5.1 1 .3 1.4L3 14.7V17h3l.8-.8v-1.7h1.7v-1.7h1.5l1.3-1.8c.4.2.9.3 1.4.3z"),
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

/// What an action came to, in a sentence. Only words that are known here are said, never the address's own.
fn said(word: &str, asked: &Fields) -> Option<String> {
    let number = |name: &str| asked.get(name).and_then(|text| text.parse::<u32>().ok());
    let said = match word {
        "retried" => "The delivery is pending and due now. Its history stays.",
        "paused" => "Paused. New deliveries are kept and wait until the webhook is resumed.",
        "resumed" => "Resumed. What waited goes out now; dead deliveries stay dead.",
        "saved" => "Saved. It counts from the next attempt on.",
        "revoked" => "The key is revoked.",
        "webhook-deleted" => "The webhook is deleted. What was still open of it is given up.",
        "source-made" => "The source is made. Give its address to the sender.",
        "source-saved" => "Saved. It counts from the next request on.",
        "source-deleted" => "The source is deleted. What it sent stays.",
        "rotated" => "The secret is replaced. The old one stays valid for 24 hours.",
        "cancelled" => "Stopped. What was put back stays so.",
        "selected" => {
            let (done, failed) = (number("n")?, number("failed").unwrap_or(0));
            let not = match failed {
                0 => String::new(),
                n => format!(
                    " {n} could not be: they are being attempted, or their webhook is disabled."
                ),
            };
            return Some(format!("{done} put back.{not}"));
        }
        _ => return None,
    };
    Some(said.to_owned())
}

/// A page as an answer.
pub(super) fn html(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => (status, Html(text)).into_response(),
        // Nothing that templates do here can fail; a formatter of a type could.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
