//! Whether payloads are checked against the schemas of the event catalogue.

use super::Reader;
use super::setting::{DefaultText, Setting};

pub const EVENT_VALIDATION: Setting<DefaultText> = Setting {
    name: "POSTRIDER_EVENT_VALIDATION",
    values: DefaultText {
        form: "off, warn or reject",
        default: "off",
    },
    meaning: "What happens to an event whose payload does not match the schema of its type in the event catalogue. `warn`: it is accepted, logged and counted. `reject`: its publisher gets a 400 with what is wrong and where. Events from sources are never rejected for this, only counted. Events whose type has no schema are always accepted.",
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventValidation {
    #[default]
    Off,
    /// A mismatch is logged and counted.
    Warn,
    /// A published event with a mismatch is not accepted.
    Reject,
}

impl Reader<'_> {
    pub fn event_validation(&mut self) -> EventValidation {
        match EVENT_VALIDATION.read(self).as_str() {
            "off" => EventValidation::Off,
            "warn" => EventValidation::Warn,
            "reject" => EventValidation::Reject,
            _ => {
                let message = format!("must be {}", EVENT_VALIDATION.values.form);
                self.fault(EVENT_VALIDATION.name, &message);
                EventValidation::Off
            }
        }
    }
}
