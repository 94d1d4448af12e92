//! The letter to the owner of a webhook that has failed.

use askama::Template;
use postrider_ports::mail::{Contact, Letter};

use crate::alert::Alert;

#[derive(Template)]
#[template(path = "failed.txt")]
struct Text<'a> {
    name: &'a str,
    retries: Option<u32>,
    reason: &'a str,
    link: Option<&'a str>,
    id: &'a str,
}

/// The same words; what comes from elsewhere is escaped.
#[derive(Template)]
#[template(path = "failed.html")]
struct Html<'a> {
    name: &'a str,
    retries: Option<u32>,
    reason: &'a str,
    link: Option<&'a str>,
    id: &'a str,
}

/// The letter that tells of an alert. `public_url` is the address of the API, for the link.
pub(crate) fn failed(
    alert: &Alert,
    contact: &Contact,
    to: &str,
    public_url: Option<&str>,
) -> Result<Letter, askama::Error> {
    let name = contact.name.as_str();
    let retries = alert.retries;
    let reason = alert.reason.as_deref().unwrap_or("no reason is known");
    let id = alert.webhook.to_string();
    let link = public_url.map(|url| format!("{}/v1/webhooks/{id}", url.trim_end_matches('/')));
    let (link, id) = (link.as_deref(), id.as_str());
    let after = retries.map(|retries| format!(" after {retries} retries"));
    Ok(Letter {
        to: to.to_owned(),
        subject: format!("Webhook '{name}' has failed{}", after.unwrap_or_default()),
        text: Text {
            name,
            retries,
            reason,
            link,
            id,
        }
        .render()?,
        html: Html {
            name,
            retries,
            reason,
            link,
            id,
        }
        .render()?,
    })
}
