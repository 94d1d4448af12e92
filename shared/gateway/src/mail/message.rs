//! The text of an e-mail.

use askama::Template;
use postrider_domain::alert::{Alert, AlertCause};
use postrider_domain::health::LastFailure;
use postrider_ports::mail::{Contact, Email};

use super::Addresses;

/// The values of both templates.
struct Words {
    headline: String,
    failed: bool,
    error: String,
    last: Option<Last>,
    link: Option<String>,
    webhook: String,
}

struct Last {
    event_type: String,
    delivery: String,
    at: String,
}

#[derive(Template)]
#[template(path = "problem.txt")]
struct Text<'a> {
    words: &'a Words,
}

/// The same text; values are escaped.
#[derive(Template)]
#[template(path = "problem.html")]
struct Html<'a> {
    words: &'a Words,
}

/// The e-mail about an alert; `None` if there is no recipient.
pub fn email(
    alert: &Alert,
    contact: &Contact,
    addresses: &Addresses,
) -> Result<Option<Email>, askama::Error> {
    let to = contact.owner_email.as_ref();
    let Some(to) = to.or(addresses.alert_address.as_ref()) else {
        return Ok(None);
    };
    let words = Words::about(alert, contact, addresses.public_url.as_deref());
    Ok(Some(Email {
        id: format!(
            "{}.{}.{}",
            alert.webhook,
            alert.cause.as_str(),
            alert.episode()
        ),
        to: to.clone(),
        subject: words.headline.clone(),
        text: Text { words: &words }.render()?,
        html: Html { words: &words }.render()?,
    }))
}

impl Words {
    fn about(alert: &Alert, contact: &Contact, public_url: Option<&str>) -> Self {
        let last = alert.last_failure.as_ref();
        let error = last.map(|last| last.error.as_str());
        let error = error.or(alert.reason.as_deref());
        let webhook = alert.webhook.to_string();
        Self {
            headline: headline(&one_line(&contact.name), alert.cause),
            failed: matches!(alert.cause, AlertCause::Failed { .. }),
            error: one_line(error.unwrap_or("unknown")),
            last: last.map(Last::of),
            link: public_url
                .map(|url| format!("{}/inspector/webhooks/{webhook}", url.trim_end_matches('/'))),
            webhook,
        }
    }
}

impl Last {
    fn of(failure: &LastFailure) -> Self {
        Self {
            event_type: failure.event_type.to_string(),
            delivery: failure.delivery.to_string(),
            at: failure.at.to_string(),
        }
    }
}

fn headline(name: &str, cause: AlertCause) -> String {
    match cause {
        AlertCause::Failed { retries: None } => format!("Webhook '{name}' has failed"),
        AlertCause::Failed { retries: Some(1) } => {
            format!("Webhook '{name}' has failed after 1 retry")
        }
        AlertCause::Failed {
            retries: Some(retries),
        } => format!("Webhook '{name}' has failed after {retries} retries"),
        AlertCause::Degraded { failures } => {
            format!("Webhook '{name}' has failed {failures} times in a row and is being retried")
        }
    }
}

/// Text from others must not look like additional lines of the e-mail.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use postrider_domain::alert::Alert;
    use serde_json::{Value, json};

    use super::*;

    const WEBHOOK: &str = "wh_agniwlcnlz7wbamsuo2mlvxh7a";

    fn alert(kind: &str, data: &Value) -> Alert {
        let mut all = json!({"webhook_id": WEBHOOK, "generation": 2, "failure_count": 3});
        all.as_object_mut()
            .unwrap()
            .extend(data.as_object().unwrap().clone());
        let event = json!({"id": "x", "type": kind, "tenant": "default",
            "time": "2026-02-21T10:00:00Z", "data": all});
        Alert::of(event).unwrap().unwrap()
    }

    fn contact(name: &str, owner: Option<&str>) -> Contact {
        Contact {
            name: name.to_owned(),
            owner_email: owner.map(str::to_owned),
        }
    }

    fn addresses() -> Addresses {
        Addresses {
            alert_address: Some("ops@example.com".to_owned()),
            public_url: Some("https://gateway.example.com/".to_owned()),
        }
    }

    fn written(alert: &Alert, contact: &Contact, addresses: &Addresses) -> Email {
        email(alert, contact, addresses).unwrap().unwrap()
    }

    #[test]
    fn the_owner_of_a_failed_webhook_reads_what_failed_last_and_how_to_resume() {
        let delivery = postrider_domain::ids::DeliveryId {
            event: postrider_domain::ids::EventId::from_bytes([1; 16]),
            webhook: WEBHOOK.parse().unwrap(),
        };
        let alert = alert(
            "webhook.failed",
            &json!({"retries": 5, "last_failure": {
            "webhook_delivery_id": delivery, "event_type": "task.completed",
            "error": "HTTP status 500", "at": "2026-02-21T09:59:00Z"}}),
        );
        let owner = contact("orders", Some("owner@example.com"));
        let email = written(&alert, &owner, &addresses());
        assert_eq!(email.to, "owner@example.com");
        assert_eq!(email.subject, "Webhook 'orders' has failed after 5 retries");
        assert_eq!(email.id, format!("{WEBHOOK}.failed.2"));
        let link = format!("https://gateway.example.com/inspector/webhooks/{WEBHOOK}");
        for body in [&email.text, &email.html] {
            for part in [
                "has failed after 5 retries",
                "HTTP status 500",
                "task.completed",
                &delivery.to_string(),
                "2026-02-21T09:59:00",
                &link,
                &format!("postrider webhooks resume {WEBHOOK}"),
            ] {
                assert!(body.contains(part), "{part} in {body}");
            }
        }
    }

    #[test]
    fn a_warning_names_the_failures_and_does_not_ask_to_resume() {
        let email = written(
            &alert("webhook.degraded", &json!({})),
            &contact("orders", None),
            &addresses(),
        );
        assert_eq!(email.to, "ops@example.com");
        assert_eq!(
            email.subject,
            "Webhook 'orders' has failed 3 times in a row and is being retried"
        );
        for body in [&email.text, &email.html] {
            assert!(!body.contains("resume"), "{body}");
            assert!(body.contains("Last error: unknown"), "{body}");
        }
    }

    #[test]
    fn without_a_recipient_there_is_no_email() {
        let alert = alert("webhook.failed", &json!({}));
        let email = email(&alert, &contact("orders", None), &Addresses::default());
        assert_eq!(email.unwrap(), None);
    }

    #[test]
    fn without_a_public_url_there_is_the_id_and_no_link() {
        let owner = contact("orders", Some("owner@example.com"));
        let email = written(
            &alert("webhook.failed", &json!({})),
            &owner,
            &Addresses::default(),
        );
        for body in [&email.text, &email.html] {
            assert!(!body.contains("http") && body.contains(WEBHOOK), "{body}");
        }
    }

    #[test]
    fn text_from_others_is_escaped_and_stays_on_its_line() {
        let alert = alert(
            "webhook.failed",
            &json!({"reason": "TLS failure: <script>\r\nWebhook:    https://evil.example"}),
        );
        let owner = contact("<b>&", Some("owner@example.com"));
        let email = written(&alert, &owner, &addresses());
        assert!(!email.html.contains("<script>") && !email.html.contains("<b>&"));
        assert!(email.html.contains("script"), "{}", email.html);
        let forged = email
            .text
            .lines()
            .any(|line| line.starts_with("Webhook:    https://evil"));
        assert!(!forged, "{}", email.text);
    }
}
