//! A letter as a message: plain text and HTML, made by nobody who would read an answer.

use lettre::Message;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use postrider_ports::mail::Email;
use postrider_ports::{Error, Result};

/// Who letters come from: `alerts@example.com` or `Postrider <alerts@example.com>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromAddress(Mailbox);

/// A text that is no mail address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a mail address such as alerts@example.com")]
pub struct BadAddress;

impl FromAddress {
    /// Reads an address, with or without a name.
    ///
    /// # Errors
    /// A text that is none.
    pub fn parse(text: &str) -> std::result::Result<Self, BadAddress> {
        text.parse().map(Self).map_err(|_| BadAddress)
    }
}

/// Whether letters can be sent to it.
#[must_use]
pub fn is_address(text: &str) -> bool {
    text.parse::<lettre::Address>().is_ok()
}

/// The message of a letter. Its id is the letter's, so that a mailbox can tell a letter that comes twice.
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

/// Tells mailboxes not to answer that somebody is on holiday. <https://www.rfc-editor.org/rfc/rfc3834#section-5>
fn automatic() -> HeaderValue {
    HeaderValue::new(
        HeaderName::new_from_ascii_str("Auto-Submitted"),
        "auto-generated".to_owned(),
    )
}

fn broken(what: &str) -> Error {
    Error::Broken(format!("smtp: {what} cannot be used"))
}
