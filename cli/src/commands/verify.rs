//! `postrider verify`: checks the signatures of a request.

use clap::Args;
use postrider_domain::secret::SigningSecret;
use postrider_domain::signature::{Forged, SignedRequest, verify_plain, verify_standard};
use postrider_domain::time::Timestamp;
use serde_json::json;

use super::input::BodyArgs;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::hidden::Hidden;
use crate::output::{Output, Tone};
use crate::when::When;

const AFTER_HELP: &str = "\
Examples:
  postrider verify --secret whsec_… --id dlv_… --timestamp 1771668000 \\
      --signature 'v1,K5oZ…=' --file body.json
  postrider verify --secret whsec_… --plain sha256=757107ea… - < body.json

Exit code 0 if every given signature is valid, 1 if one is not.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct VerifyArgs {
    /// Signing secret, whsec_…; repeatable, any of them may match
    #[arg(
        long,
        required = true,
        env = "POSTRIDER_SECRET",
        hide_env_values = true
    )]
    secret: Vec<Hidden>,

    /// Value of the header webhook-id
    #[arg(long, requires = "signature")]
    id: Option<String>,

    /// Value of the header webhook-timestamp
    #[arg(long, requires = "signature", value_name = "SECONDS")]
    timestamp: Option<String>,

    /// Complete value of the header webhook-signature
    #[arg(long, requires_all = ["id", "timestamp"], required_unless_present = "plain", value_name = "V1,BASE64 …")]
    signature: Option<String>,

    /// Value of the header X-Observatory-Signature or X-Webhook-Signature
    #[arg(long, value_name = "SHA256=HEX")]
    plain: Option<String>,

    /// Verify as of this time: RFC 3339, or how long ago, such as 10m
    #[arg(long, value_name = "TIME", default_value = "now")]
    at: When,

    #[command(flatten)]
    body: BodyArgs,
}

pub(crate) fn run(args: VerifyArgs, out: Output) -> Result<Ending, Failure> {
    let secrets = Hidden::signing_secrets(&args.secret)?;
    let given = Given {
        id: args.id.unwrap_or_default(),
        timestamp: args.timestamp.unwrap_or_default(),
        signature: args.signature,
        plain: args.plain,
    };
    let body = args.body.read()?;
    let now = args.at.resolve(edge::now());
    match given.check(&secrets, &body, now) {
        Ok(()) if out.wants_json() => out.value(&json!({ "genuine": true, "reason": null }))?,
        Ok(()) => out.line(format!("{} valid", out.paint(Tone::Good, "✓")))?,
        Err(forged) => {
            let reason = explain(&given, forged, &secrets, &body, now);
            if out.wants_json() {
                out.value(&json!({ "genuine": false, "reason": reason }))?;
            } else {
                out.line(format!("{} not valid: {reason}", out.paint(Tone::Bad, "✗")))?;
            }
            return Ok(Ending::Unsuccessful);
        }
    }
    Ok(Ending::Fine)
}

struct Given {
    id: String,
    timestamp: String,
    signature: Option<String>,
    plain: Option<String>,
}

impl Given {
    fn check(&self, secrets: &[SigningSecret], body: &[u8], now: Timestamp) -> Result<(), Forged> {
        if let Some(signatures) = &self.signature {
            let request = SignedRequest {
                id: &self.id,
                timestamp: &self.timestamp,
                signatures,
                body,
            };
            verify_standard(request, secrets.iter(), now)?;
        }
        match &self.plain {
            Some(header)
                if !secrets
                    .iter()
                    .any(|secret| verify_plain(header, secret, body).is_ok()) =>
            {
                Err(Forged::NoMatch)
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Why the signature is not valid, with the usual cause.
fn explain(
    given: &Given,
    forged: Forged,
    secrets: &[SigningSecret],
    body: &[u8],
    now: Timestamp,
) -> String {
    let trimmed = body.strip_suffix(b"\n");
    let with_line_break = [body, b"\n"].concat();
    let message = match forged {
        Forged::BadTimestamp => "",
        Forged::OutOfWindow => "; use --at to verify it as of another time",
        Forged::NoMatch if trimmed.is_some_and(|body| given.check(secrets, body, now).is_ok()) => {
            "; it would match without the line break at the end of the body (use printf '%s' to write none)"
        }
        Forged::NoMatch if given.check(secrets, &with_line_break, now).is_ok() => {
            "; it would match with a line break at the end of the body"
        }
        Forged::NoMatch => {
            "; the secret, id or timestamp differs, or the body was modified in transit"
        }
    };
    format!("{forged}{message}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::signature::{plain, standard};

    const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

    fn signed(secret: &SigningSecret, body: &[u8]) -> Given {
        let seconds = NOW.as_seconds();
        Given {
            id: "msg_1".to_owned(),
            timestamp: seconds.to_string(),
            signature: Some(standard(std::iter::once(secret), "msg_1", seconds, body)),
            plain: Some(plain(secret, body)),
        }
    }

    #[test]
    fn only_the_signed_body_verifies() {
        let secret = SigningSecret::from_key(&[1; 32]);
        let secrets = [SigningSecret::from_key(&[2; 32]), secret.clone()];
        let given = signed(&secret, b"body");
        assert_eq!(given.check(&secrets, b"body", NOW), Ok(()));
        assert_eq!(given.check(&secrets, b"bodY", NOW), Err(Forged::NoMatch));
        assert_eq!(
            given.check(&secrets[..1], b"body", NOW),
            Err(Forged::NoMatch)
        );
        let later = NOW.plus(postrider_domain::time::Millis::from_seconds(301));
        assert_eq!(
            given.check(&secrets, b"body", later),
            Err(Forged::OutOfWindow)
        );
    }

    #[test]
    fn one_invalid_signature_is_enough_to_fail() {
        let secret = SigningSecret::from_key(&[1; 32]);
        let mut given = signed(&secret, b"body");
        given.plain = Some(plain(&secret, b"other"));
        assert_eq!(given.check(&[secret], b"body", NOW), Err(Forged::NoMatch));
    }

    #[test]
    fn an_extra_or_missing_line_break_is_detected() {
        let secrets = [SigningSecret::from_key(&[1; 32])];
        let given = signed(&secrets[0], b"body");
        assert!(
            explain(&given, Forged::NoMatch, &secrets, b"body\n", NOW)
                .contains("without the line break")
        );
        let given = signed(&secrets[0], b"body\n");
        assert!(
            explain(&given, Forged::NoMatch, &secrets, b"body", NOW).contains("with a line break")
        );
    }
}
