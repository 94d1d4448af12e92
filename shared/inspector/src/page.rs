//! The frame that all pages share.

use std::sync::Arc;

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use postrider_domain::ids::TenantId;
use postrider_domain::key::Scope;
use postrider_domain::notification::NotificationKind;

pub(super) use super::error::PageError;
use super::fields::Fields;
use super::live::Place;
pub(super) use super::section::Section;
use super::session::Viewer;
use super::site::Site;
use super::{assets, catalogue};
use crate::{App, Portal};

/// A menu entry.
pub(super) struct Link {
    pub(super) path: String,
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
    site: Site,
    /// Whether it is a page for everyone, with the look of the portal.
    is_public: bool,
    portal: Arc<Portal>,
    return_url: Option<String>,
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
            site: viewer.site(),
            is_public: false,
            portal: Arc::clone(viewer.portal()),
            return_url: viewer.return_url().map(str::to_owned),
            live: None,
            status_message: None,
            section,
        }
    }

    /// The frame of a page without login.
    pub(super) fn bare(title: impl Into<String>, site: Site, app: &App) -> Self {
        Self {
            title: title.into(),
            who: None,
            site,
            is_public: false,
            portal: Arc::clone(&app.portal),
            return_url: None,
            live: None,
            status_message: None,
            section: Section::Elsewhere,
        }
    }

    /// The frame of a page that everyone may see.
    pub(super) fn public(title: impl Into<String>, section: Section, app: &App) -> Self {
        Self {
            is_public: true,
            section,
            ..Self::bare(title, Site::Portal, app)
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

    pub(super) fn is_portal(&self) -> bool {
        self.site == Site::Portal
    }

    /// What the paths of pages begin with.
    pub(super) const fn home(&self) -> &'static str {
        if self.is_public { "" } else { self.site.home() }
    }

    /// Where the name of the product leads.
    pub(super) const fn start(&self) -> &'static str {
        if self.is_public {
            catalogue::public::HOME
        } else {
            self.site.home()
        }
    }

    /// Whether there is a menu beside the page.
    pub(super) const fn has_menu(&self) -> bool {
        self.who.is_some() || self.is_public
    }

    pub(super) const fn has_deliveries(&self) -> bool {
        self.who.is_some()
    }

    /// Whether the key is of the tenant whose settings apply to all.
    pub(super) fn is_operator(&self) -> bool {
        let who = self.who.as_ref();
        who.is_some_and(|who| who.tenant == TenantId::DEFAULT)
    }

    /// The name of the product.
    pub(super) fn brand(&self) -> &str {
        match self.site {
            Site::Inspector => "Postrider",
            Site::Portal => &self.portal.name,
        }
    }

    pub(super) fn logo(&self) -> Option<&str> {
        self.portal.logo.as_deref()
    }

    /// URL of the portal's Back link.
    pub(super) fn return_url(&self) -> Option<&str> {
        self.return_url.as_deref()
    }

    /// The origins that a page tells its height, if one of them embeds it.
    pub(super) fn embedders(&self) -> &str {
        match self.site {
            Site::Inspector => "",
            Site::Portal => &self.portal.embedders,
        }
    }

    pub(super) fn style(&self) -> String {
        assets::path(self.site, "inspector.css")
    }

    /// A style sheet on top of the other.
    pub(super) fn brand_style(&self) -> Option<String> {
        let style = self.portal.style.as_deref().filter(|_| self.is_portal());
        style.map(assets::brand_path)
    }

    pub(super) fn script(&self) -> String {
        assets::path(self.site, "inspector.js")
    }

    /// Builds filters by form.
    pub(super) fn filter_script(&self) -> String {
        assets::path(self.site, "filter_form.js")
    }

    pub(super) fn icon(&self) -> String {
        assets::path(self.site, "icon.svg")
    }

    pub(super) fn menu(&self) -> Vec<Link> {
        let menu = if self.is_public {
            &[Section::EventTypes]
        } else {
            self.site.menu()
        };
        let entries = menu.iter();
        entries
            .map(|section| Link {
                path: format!("{}{}", self.home(), section.folder()),
                name: section.name(),
                key: section.key(),
                icon: section.icon(),
                is_here: *section == self.section,
            })
            .collect()
    }
}

/// The result of an action, in a sentence. Only fixed texts, never text from the URL.
fn status_message(done: &str, query: &Fields) -> Option<String> {
    let number = |name: &str| query.get(name).and_then(|text| text.parse::<u32>().ok());
    let message = match done {
        "retried" => "The delivery is pending and due now. Its history is kept.",
        "delivering" => "The delivery is created and due now, unless its webhook is stopped.",
        "erased" => "The content of the event is erased.",
        "erasing" => {
            "The content of the event is erased as soon as the attempt under way has ended."
        }
        "held" => {
            "The delivery is pending, and on hold until its webhook is resumed. Its history is kept."
        }
        "paused" => "Webhook paused. Deliveries are on hold until you resume it.",
        "resumed" => "Webhook resumed. Deliveries on hold go out now; dead ones stay dead.",
        "saved" => "Saved. Changes apply from the next attempt.",
        "event-type-saved" => "Saved. Changes apply from the next event.",
        "event-type-deleted" => "Event type deleted. Events of this type are still accepted.",
        "revoked" => "API key revoked.",
        "tenant-deleted" => {
            "The tenant is closed. Everything in it is being deleted in the background."
        }
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
