//! The notifier on Lambda.

use std::sync::Arc;

use lambda_runtime::{Error, service_fn};
use postrider_adapter_aws::ses::SesMail;
use postrider_adapter_system::SystemClock;
use postrider_gateway::mail::Addresses;
use postrider_notifier::Notifier;
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
    let notifier = Notifier {
        contacts: Arc::clone(&store) as _,
        sent_log: store,
        mail: mail.map(|mail| Arc::new(mail) as Arc<dyn Mail>),
        addresses: Addresses {
            alert_address: settings.alert_address,
            public_url: settings.public_url,
        },
        clock: Arc::new(SystemClock),
    };
    lambda_runtime::run(service_fn(|event| notifier.handle(event))).await
}
