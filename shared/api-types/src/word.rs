//! Enums as the API writes them: one word out of a fixed list.

use std::fmt;
use std::marker::PhantomData;

use postrider_domain::delivery::{DeadCause, Status};
use postrider_domain::diagnosis::{BodyChange, UrlChange};
use postrider_domain::flow::WaitingFor;
use postrider_domain::health::WebhookStatus;
use postrider_domain::inbound::Rejection;
use postrider_domain::key::Scope;
use postrider_domain::key_stats::Comparison;
use postrider_domain::notification::NotificationKind;
use postrider_domain::outcome::Phase;
use postrider_domain::shadow::{Aspect, Likeness};
use postrider_domain::transfer::MovedDeliveries;
use postrider_ports::jobs::JobState;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::problem::Code;

/// An enum whose values have names in the API.
pub trait Vocabulary: Copy + Send + Sync + 'static {
    const ALL: &'static [Self];

    fn name(self) -> &'static str;

    #[must_use]
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == name)
    }

    fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|one| one.name())
    }
}

/// Takes the names of enums from their own `ALL` and the given function.
macro_rules! vocabulary {
    ($($type:ty, $name:ident;)+) => {$(
        impl $crate::word::Vocabulary for $type {
            const ALL: &'static [Self] = &<$type>::ALL;

            fn name(self) -> &'static str {
                <$type>::$name(self)
            }
        }
    )+};
}
pub(crate) use vocabulary;

vocabulary! {
    Aspect, as_str;
    Code, as_str;
    Comparison, as_str;
    DeadCause, as_str;
    JobState, as_str;
    Likeness, as_str;
    MovedDeliveries, as_str;
    NotificationKind, as_str;
    Phase, as_str;
    Rejection, code;
    Scope, as_str;
    Status, as_str;
    WaitingFor, as_str;
    WebhookStatus, as_str;
}

/// Declares the names of an enum that has none of its own. The match makes the compiler reject a missing value.
macro_rules! named {
    ($($type:ident { $($value:ident => $name:literal,)+ })+) => {$(
        impl Vocabulary for $type {
            const ALL: &'static [Self] = &[$(Self::$value),+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    )+};
}

named! {
    BodyChange {
        NewlineCut => "newline_cut",
        NewlineAdded => "newline_added",
        CrlfAdded => "crlf_added",
        CrlfCut => "crlf_cut",
        MarkCut => "mark_cut",
        Compact => "compact",
        Spaced => "spaced",
        Sorted => "sorted",
        SortedSpaced => "sorted_spaced",
        Base64Decoded => "base64_decoded",
        Empty => "empty",
    }
    UrlChange {
        PortAdded => "port_added",
        PortCut => "port_cut",
        SlashAdded => "slash_added",
        SlashCut => "slash_cut",
        Http => "http",
        Https => "https",
        QueryCut => "query_cut",
        AsReceived => "as_received",
    }
}

/// A value of an enum, or the text of one that only a newer gateway knows. Written back as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Word<T> {
    Known(T),
    Unknown(String),
}

impl<T: Vocabulary> Word<T> {
    #[must_use]
    pub fn read(text: &str) -> Self {
        T::from_name(text).map_or_else(|| Self::Unknown(text.to_owned()), Self::Known)
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(value) => value.name(),
            Self::Unknown(text) => text,
        }
    }

    #[must_use]
    pub const fn known(&self) -> Option<T> {
        match self {
            Self::Known(value) => Some(*value),
            Self::Unknown(_) => None,
        }
    }
}

impl<T> From<T> for Word<T> {
    fn from(value: T) -> Self {
        Self::Known(value)
    }
}

impl<T: PartialEq> PartialEq<T> for Word<T> {
    fn eq(&self, other: &T) -> bool {
        matches!(self, Self::Known(value) if value == other)
    }
}

impl<T: Vocabulary> fmt::Display for Word<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl<T: Vocabulary> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de, T: Vocabulary> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AsWord<T>(PhantomData<T>);
        impl<T: Vocabulary> Visitor<'_> for AsWord<T> {
            type Value = Word<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Word<T>, E> {
                Ok(Word::read(text))
            }
        }
        from.deserialize_str(AsWord(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_newer_gateway_is_kept() {
        let known: Word<Status> = serde_json::from_str("\"dead\"").unwrap();
        assert_eq!(known, Status::Dead);
        let unknown: Word<Status> = serde_json::from_str("\"resting\"").unwrap();
        assert_eq!(unknown.known(), None);
        assert_eq!(serde_json::to_string(&unknown).unwrap(), "\"resting\"");
        assert_eq!(format!("{known:8}|{unknown:8}|"), "dead    |resting |");
        assert!(serde_json::from_str::<Word<Status>>("5").is_err());
    }

    #[test]
    fn every_value_is_read_as_it_is_written() {
        fn check<T: Vocabulary + PartialEq + fmt::Debug>() {
            for one in T::ALL {
                assert_eq!(T::from_name(one.name()), Some(*one));
            }
        }
        check::<BodyChange>();
        check::<DeadCause>();
        check::<NotificationKind>();
        check::<Phase>();
        check::<Rejection>();
        check::<UrlChange>();
        check::<WaitingFor>();
        check::<WebhookStatus>();
    }
}
