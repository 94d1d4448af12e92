//! The notifier on Lambda.

use std::sync::Arc;

use lambda_runtime::{Error, service_fn};
use postrider_adapter_aws::ses::SesMail;
use postrider_notifier::{Addresses, Notifier};
use postrider_ports::mail::Mail;
use postrider_wiring::Aws;
use postrider_wiring::settings::NotifierSettings;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let settings = NotifierSettings::from_environment()?;
    settings.common.start()?;
    let aws = Aws::load().await;
    let store = postrider_wiring::store(&aws, &settings.store);
    let ses = aws_sdk_sesv2::Client::new(aws.config());
    let mail = settings.mail_from.map(|from| SesMail::new(ses, from));
    let addresses = Addresses {
        alert_address: settings.alert_address,
        public_url: settings.public_url,
    };
    let mail = mail.map(|mail| Arc::new(mail) as Arc<dyn Mail>);
    let notifier = Notifier::new(store, mail, addresses);
    lambda_runtime::run(service_fn(|event| notifier.handle(event))).await
}
