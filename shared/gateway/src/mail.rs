//! Letters to the owners of webhooks that are in trouble: the same words, whoever brings them.

mod message;
mod sender;

pub use message::email;
pub use sender::{MailRound, MailSender};

/// What letters are written with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Who gets the letter of a webhook without an owner's address.
    pub alert_address: Option<String>,
    /// Where people reach the gateway, for links.
    pub public_url: Option<String>,
}
