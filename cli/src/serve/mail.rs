//! Creates the mail sender.

use std::sync::Arc;

use anyhow::Context;
use postrider_adapter_local::SqliteStore;
use postrider_adapter_smtp::SmtpMail;
use postrider_gateway::mail::MailSender;
use postrider_ports::clock::Clock;

use crate::serve::settings::mail::MailSettings;

/// Creates a mail sender. It does not connect yet.
pub(crate) fn mail_sender(
    settings: &MailSettings,
    store: &Arc<SqliteStore>,
    clock: Arc<dyn Clock>,
) -> anyhow::Result<MailSender> {
    let setting = || "cannot use POSTRIDER_SMTP_CA_FILE";
    let roots = settings.ca_file.as_ref().map(std::fs::read).transpose();
    let roots = roots.with_context(setting)?;
    let mail = SmtpMail::new(
        settings.server.clone(),
        settings.from.clone(),
        roots.as_deref(),
    );
    Ok(MailSender::new(
        Arc::clone(store) as _,
        Arc::clone(store) as _,
        Arc::new(mail.with_context(setting)?),
        clock,
        settings.addresses.clone(),
    ))
}
