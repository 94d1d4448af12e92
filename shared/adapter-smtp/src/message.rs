//! An e-mail as a MIME message: plain text and HTML, marked as automatic.

use lettre::Message;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use postrider_ports::mail::Email;
use postrider_ports::{Error, Result};

/// The sender of e-mail: `alerts@example.com` or `Postrider <alerts@example.com>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromAddress(Mailbox);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an e-mail address such as alerts@example.com")]
pub struct BadAddress;

impl FromAddress {
    /// Parses an address, with or without a display name.
    pub fn parse(text: &str) -> std::result::Result<Self, BadAddress> {
        text.parse().map(Self).map_err(|_| BadAddress)
    }
}

/// Whether e-mail can be sent to it.
#[must_use]
pub fn is_address(text: &str) -> bool {
    text.parse::<lettre::Address>().is_ok()
}

/// The message id is that of the e-mail, so that a mailbox can detect a message that arrives twice.
pub(crate) fn message(from: &FromAddress, email: Email) -> Result<Message> {
    let FromAddress(from) = from;
    let to = email
        .to
        .parse()
        .map_err(|_| broken("the recipient's address"))?;
    let id = format!("<{}@{}>", email.id, from.email.domain());
    let built = Message::builder()
        .from(from.clone())
        .to(Mailbox::new(None, to))
        .subject(email.subject)
        .message_id(Some(id))
        .raw_header(automatic())
        .multipart(MultiPart::alternative_plain_html(email.text, email.html));
    built.map_err(|_| broken("the message"))
}

/// Tells mailboxes not to send automatic replies. <https://www.rfc-editor.org/rfc/rfc3834#section-5>
fn automatic() -> HeaderValue {
    HeaderValue::new(
        HeaderName::new_from_ascii_str("Auto-Submitted"),
        "auto-generated".to_owned(),
    )
}

fn broken(what: &str) -> Error {
    Error::Broken(format!("smtp: {what} is not valid"))
}
