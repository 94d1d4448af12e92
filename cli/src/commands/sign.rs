//! `postrider sign`: the signature headers that the gateway would send with a body.

use clap::Args;
use postrider_domain::ids::EventId;
use postrider_domain::secret::SigningSecret;
use postrider_domain::signature;

use super::input::BodyArgs;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::hidden::Hidden;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  postrider sign --secret whsec_… --file body.json > headers
  curl --header @headers --data-binary @body.json https://example.com/hook

  printf '%s' '{\"id\": 42}' | postrider sign --secret whsec_… -

To sign with several secrets, as during a rotation, repeat --secret, newest first.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct SignArgs {
    /// Signing secret, whsec_…; repeatable, newest first
    #[arg(
        long,
        required = true,
        env = "POSTRIDER_SECRET",
        hide_env_values = true
    )]
    secret: Vec<Hidden>,

    /// Message id [default: a new one]
    #[arg(long)]
    id: Option<String>,

    /// Unix time of the signature [default: now]
    #[arg(long, value_name = "SECONDS")]
    timestamp: Option<u32>,

    #[command(flatten)]
    body: BodyArgs,
}

pub(crate) fn run(args: SignArgs, out: Output) -> Result<Ending, Failure> {
    let secrets = Hidden::signing_secrets(&args.secret)?;
    let now = edge::now();
    let id = match args.id {
        Some(id) => id,
        None => EventId::new(now, &edge::entropy()?).to_string(),
    };
    let timestamp = args.timestamp.map_or_else(|| now.as_seconds(), i64::from);
    let headers = headers(&secrets, &id, timestamp, &args.body.read()?);
    if out.wants_json() {
        let headers: serde_json::Map<_, _> = headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        out.value(&headers)?;
    } else {
        let lines: Vec<String> = headers
            .into_iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        out.line(lines.join("\n"))?;
    }
    Ok(Ending::Fine)
}

/// The signature headers of a body, with the names that the gateway uses.
fn headers(
    secrets: &[SigningSecret],
    id: &str,
    timestamp: i64,
    body: &[u8],
) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", timestamp.to_string()),
        (
            "webhook-signature",
            signature::standard(secrets.iter(), id, timestamp, body),
        ),
    ];
    if let Some(newest) = secrets.first() {
        let plain = signature::plain(newest, body);
        headers.extend([
            ("x-observatory-signature", plain.clone()),
            ("x-webhook-signature", plain),
        ]);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_test_vector_of_standard_webhooks_matches() {
        let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let headers = headers(
            &[secret],
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(
            headers[2].1,
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
        assert!(headers[3].1.starts_with("sha256="));
    }
}
