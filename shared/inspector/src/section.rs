//! The sections of the two sites, and their menus.

use super::site::Site;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Overview,
    Deliveries,
    Dead,
    Webhooks,
    Sources,
    EventTypes,
    Usage,
    Keys,
    /// Not in a menu.
    Elsewhere,
}

impl Site {
    pub(super) const fn menu(self) -> &'static [Section] {
        match self {
            Self::Inspector => &[
                Section::Overview,
                Section::Deliveries,
                Section::Dead,
                Section::Webhooks,
                Section::Sources,
                Section::EventTypes,
                Section::Usage,
                Section::Keys,
            ],
            Self::Portal => &[
                Section::Webhooks,
                Section::EventTypes,
                Section::Deliveries,
                Section::Dead,
                Section::Usage,
            ],
        }
    }
}

impl Section {
    /// Its path below the site's home.
    pub(super) const fn folder(self) -> &'static str {
        match self {
            Self::Overview | Self::Elsewhere => "",
            Self::Deliveries => "/deliveries",
            Self::Dead => "/dead",
            Self::Webhooks => "/webhooks",
            Self::Sources => "/sources",
            Self::EventTypes => "/event-types",
            Self::Usage => "/usage",
            Self::Keys => "/keys",
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Deliveries => "Deliveries",
            Self::Dead => "Dead letters",
            Self::Webhooks => "Webhooks",
            Self::Sources => "Sources",
            Self::EventTypes => "Event types",
            Self::Usage => "Usage",
            Self::Keys => "API keys",
            Self::Elsewhere => "",
        }
    }

    /// The keyboard shortcut after `g`.
    pub(super) const fn key(self) -> char {
        match self {
            Self::Overview | Self::Elsewhere => 'o',
            Self::Deliveries => 'd',
            Self::Dead => 'l',
            Self::Webhooks => 'w',
            Self::Sources => 's',
            Self::EventTypes => 'e',
            Self::Usage => 'u',
            Self::Keys => 'k',
        }
    }

    /// An SVG path.
    pub(super) const fn icon(self) -> &'static str {
        match self {
            Self::Overview => "M3 16.5V10m5 6.5v-13m5 13V8m5 8.5V5",
            Self::Deliveries => "M3 10h13M11.5 5.5 16 10l-4.5 4.5",
            Self::Dead => "M5.5 5.5l9 9m0-9l-9 9",
            Self::Webhooks => {
                "M8 12l4-4M7.5 8.5 5 11a3 3 0 0 0 4.2 4.2l2.3-2.3m1-1.4L15 9a3 3 0 0 0-4.2-4.2L8.5 7"
            }
            Self::EventTypes => "M5 3h9.5v14H5zM5 13.5h9.5M8 6.5h3.5M8 9.5h3.5",
            Self::Sources => "M10 3v9M6.5 8.5 10 12l3.5-3.5M3 12.5V17h14v-4.5",
            Self::Usage => "M3 17V9h3.5v8m1.7 0V4h3.6v13m1.7 0v-6H17v6",
            Self::Keys => {
                "M12.7 11.3a4 4 0 1 0-4-4c0 .5.1 1 .3 1.4L3 14.7V17h3l.8-.8v-1.7h1.7v-1.7h1.5l1.3-1.8c.4.2.9.3 1.4.3z"
            }
            Self::Elsewhere => "",
        }
    }
}
