//! Templates to start from. A preset is copied into a webhook and changed there; nothing refers to it afterwards.

use std::str::FromStr;

use super::{DEFAULT_CONTENT_TYPE, TemplateDraft};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// An incoming webhook of a Slack app.
    Slack,
    /// A webhook of a Discord channel.
    Discord,
    /// The Teams workflow "Post to a channel when a webhook request is received".
    Teams,
}

impl Preset {
    pub const ALL: [Self; 3] = [Self::Slack, Self::Discord, Self::Teams];

    /// The name in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Slack => "slack",
            Self::Discord => "discord",
            Self::Teams => "teams",
        }
    }

    /// The name of the product.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Slack => "Slack",
            Self::Discord => "Discord",
            Self::Teams => "Microsoft Teams",
        }
    }

    #[must_use]
    pub const fn body(self) -> &'static str {
        match self {
            Self::Slack => include_str!("presets/slack.json.jinja"),
            Self::Discord => include_str!("presets/discord.json.jinja"),
            Self::Teams => include_str!("presets/teams.json.jinja"),
        }
    }

    #[must_use]
    pub fn draft(self) -> TemplateDraft {
        TemplateDraft {
            body: self.body().to_owned(),
            content_type: Some(DEFAULT_CONTENT_TYPE.to_owned()),
            query: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be one of slack, discord, teams")]
pub struct PresetError;

impl FromStr for Preset {
    type Err = PresetError;

    fn from_str(text: &str) -> Result<Self, PresetError> {
        let mut presets = Self::ALL.into_iter();
        presets
            .find(|preset| preset.as_str() == text)
            .ok_or(PresetError)
    }
}
