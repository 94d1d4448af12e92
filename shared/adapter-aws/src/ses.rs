//! Sends e-mail with SES.

use async_trait::async_trait;
use aws_sdk_sesv2::error::BuildError;
use aws_sdk_sesv2::types::{Body, Content, Destination, EmailContent, Message, MessageHeader};
use postrider_ports::mail::{Email, Mail};
use postrider_ports::{Error, Result};

use crate::fault;

/// Sends from one address, which must be verified in SES.
pub struct SesMail {
    client: aws_sdk_sesv2::Client,
    from: String,
}

impl SesMail {
    /// Sends from this address. Makes no call yet.
    #[must_use]
    pub const fn new(client: aws_sdk_sesv2::Client, from: String) -> Self {
        Self { client, from }
    }
}

#[async_trait]
impl Mail for SesMail {
    async fn send(&self, email: Email) -> Result<()> {
        let to = Destination::builder().to_addresses(&email.to).build();
        let message = message(&email).map_err(|error| Error::Broken(error.to_string()))?;
        let call = self
            .client
            .send_email()
            .from_email_address(&self.from)
            .destination(to)
            .content(EmailContent::builder().simple(message).build());
        call.send().await.map_err(|error| fault::of(&error))?;
        Ok(())
    }
}

fn message(email: &Email) -> std::result::Result<Message, BuildError> {
    let utf8 = |text: &str| Content::builder().data(text).charset("UTF-8").build();
    let body = Body::builder()
        .text(utf8(&email.text)?)
        .html(utf8(&email.html)?);
    // Tells mailboxes not to send automatic replies. https://www.rfc-editor.org/rfc/rfc3834#section-5
    let automatic = MessageHeader::builder()
        .name("Auto-Submitted")
        .value("auto-generated")
        .build()?;
    let message = Message::builder()
        .subject(utf8(&email.subject)?)
        .body(body.build())
        .headers(automatic);
    Ok(message.build())
}
