//! E-mails to the owners of failing webhooks. SMTP and SES send the same text.

mod message;
mod sender;

pub use message::email;
pub use sender::{MailRound, MailSender};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Gets the e-mails about webhooks without an owner address.
    pub alert_address: Option<String>,
    /// The base of links to the Inspector.
    pub public_url: Option<String>,
}
