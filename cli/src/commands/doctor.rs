//! `postrider doctor`: checks the gateway and the connection to it.

use std::path::Path;

use clap::Args;
use http::StatusCode;
use postrider_adapter_local::backup;
use postrider_api_types::webhook::WebhookView;
use postrider_domain::health::WebhookStatus;
use postrider_domain::signature::TOLERANCE_SECONDS;
use postrider_domain::time::{Millis, Timestamp};
use serde_json::json;

use crate::args::GatewayArgs;
use crate::checks::{self, Check};
use crate::client::{Answer, Client, TOKEN_FILE, Token, is_loopback};
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::{Output, plural};
use crate::pages;
use crate::when;

/// Twice the default interval of scheduled backups.
const BACKUP_WARNING: Millis = Millis::from_seconds(2 * 86_400);

/// A larger clock difference is a warning, long before receivers reject signatures.
const CLOCK_WARNING_SECONDS: u64 = 5;

const AFTER_HELP: &str = "\
Examples:
  postrider doctor
  postrider doctor --url https://gateway.example.com --json

Exit code 1 if a check fails. To check a receiver: postrider webhooks test wh_… --wait";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct DoctorArgs {}

pub(crate) async fn run(
    _: DoctorArgs,
    gateway: &GatewayArgs,
    out: Output,
) -> Result<Ending, Failure> {
    let mut checks = Vec::new();
    if is_loopback(&gateway.url) {
        checks.push(data_directory(&gateway.data));
        checks.extend(last_backup(&gateway.data, edge::now()));
    }
    let client = Client::new(gateway)?;
    match client.get(&["healthz"]).await {
        Ok(answer) => {
            checks.push(Check::good(
                "gateway",
                format!("{} is running", client.base()),
            ));
            checks.push(transport(&client));
            checks.extend(clock(&answer, edge::now()));
            checks.extend(token_and_webhooks(&client).await);
        }
        Err(failure) => checks.push(failed(&failure)),
    }
    checks::report(&checks, out)
}

fn failed(failure: &Failure) -> Check {
    let advice = match failure {
        Failure::Unreachable { .. } => {
            "start it with `postrider serve`, or set another address with --url or POSTRIDER_URL"
        }
        Failure::ServerError(_) => "check its log; the usual cause is a full disk",
        Failure::Rejected { .. }
        | Failure::NoAnswer { .. }
        | Failure::NotUnderstood(_)
        | Failure::Input(_)
        | Failure::Aws(_)
        | Failure::Output(_) => {
            "this address may not be a Postrider gateway; check --url and POSTRIDER_URL"
        }
    };
    Check::bad("gateway", failure.to_string(), advice)
}

fn transport(client: &Client) -> Check {
    let url = client.base();
    if url.scheme() == "https" {
        Check::good("transport", "encrypted")
    } else if is_loopback(url) {
        Check::good("transport", "not encrypted, but stays on this machine")
    } else {
        Check::doubtful(
            "transport",
            "not encrypted: the API key can be read in transit",
            "use https",
        )
    }
}

/// Signatures contain a timestamp, and receivers reject old ones.
fn clock(answer: &Answer, now: Timestamp) -> Option<Check> {
    let date = httpdate::parse_http_date(answer.date.as_deref()?).ok()?;
    let theirs = Timestamp::ZERO.plus(date.duration_since(std::time::UNIX_EPOCH).ok()?.into());
    let apart = now.as_seconds().abs_diff(theirs.as_seconds());
    let detail = format!("the gateway and this machine differ by {apart} s");
    Some(if apart > TOLERANCE_SECONDS.unsigned_abs() {
        let advice = format!(
            "synchronise both with NTP; receivers reject timestamps that are more than {TOLERANCE_SECONDS} s off"
        );
        Check::bad("clock", detail, advice)
    } else if apart > CLOCK_WARNING_SECONDS {
        Check::doubtful(
            "clock",
            detail,
            "synchronise both with NTP before receivers reject signatures",
        )
    } else {
        Check::good("clock", detail)
    })
}

async fn token_and_webhooks(client: &Client) -> Vec<Check> {
    let origin = match client.token() {
        Token::Given(_) => "from --token or POSTRIDER_TOKEN".to_owned(),
        Token::Found(_, path) => format!("from {}", path.display()),
        Token::Missing(_) => "none set".to_owned(),
    };
    let listing = pages::all(client, &["v1", "webhooks"]).await;
    let may_read = match &listing {
        Ok(_) => true,
        Err(Failure::Rejected { problem, .. }) if problem.status == StatusCode::FORBIDDEN => false,
        Err(Failure::Rejected {
            advice: Some(advice),
            ..
        }) => {
            return vec![Check::bad(
                "token",
                match client.token() {
                    Token::Missing(_) => origin,
                    Token::Given(_) | Token::Found(..) => format!("{origin}: rejected"),
                },
                advice.clone(),
            )];
        }
        Err(failure) => {
            let advice =
                "this address may not be a Postrider gateway; check --url and POSTRIDER_URL";
            return vec![Check::bad(
                "token",
                format!("cannot check: {failure}"),
                advice,
            )];
        }
    };
    let scopes = [
        ("publish", may_post(client, &["v1", "events"]).await),
        ("read", may_read),
        ("manage", may_post(client, &["v1", "webhooks"]).await),
    ];
    let allowed: Vec<&str> = scopes
        .into_iter()
        .filter_map(|(scope, is_allowed)| is_allowed.then_some(scope))
        .collect();
    let mut checks = vec![if allowed.is_empty() {
        let advice = "create a key with scopes: postrider keys create --name … --scope …";
        Check::bad(
            "token",
            format!("{origin}: valid, but has no scopes"),
            advice,
        )
    } else {
        Check::good("token", format!("{origin}: scopes {}", allowed.join(", ")))
    }];
    checks.extend(
        listing
            .and_then(|listing| listing.read())
            .ok()
            .map(|webhooks| check_webhooks(&webhooks)),
    );
    checks
}

/// Whether the key may POST to this path. The gateway checks the key first and then rejects the empty document, so this
/// changes nothing.
async fn may_post(client: &Client, path: &[&str]) -> bool {
    match client.post(path, &json!({})).await {
        Ok(_) => true,
        Err(Failure::Rejected { problem, .. }) => !matches!(
            problem.status,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
        ),
        Err(_) => false,
    }
}

fn check_webhooks(webhooks: &[WebhookView]) -> Check {
    let stopped: Vec<&str> = webhooks
        .iter()
        .filter(|webhook| {
            webhook.status == WebhookStatus::Failed || webhook.status == WebhookStatus::Disabled
        })
        .map(|webhook| webhook.id.as_str())
        .collect();
    match (webhooks.len(), stopped.as_slice()) {
        (0, _) => Check::doubtful(
            "webhooks",
            "none yet",
            "create one: postrider webhooks create --to URL",
        ),
        (count, []) => Check::good(
            "webhooks",
            format!("{}, none failed or disabled", plural(count, "webhook")),
        ),
        (count, [first, ..]) => Check::doubtful(
            "webhooks",
            format!(
                "{} of {count} failed or disabled: {}",
                stopped.len(),
                stopped.join(", ")
            ),
            format!("once the receiver works again: postrider webhooks resume {first}"),
        ),
    }
}

fn data_directory(path: &Path) -> Check {
    let shown = path.display();
    if !path.is_dir() {
        let advice = "set --data or POSTRIDER_DATA, or set a token with --token or POSTRIDER_TOKEN";
        return Check::doubtful("data", format!("{shown} does not exist"), advice);
    }
    let open: Vec<String> = [path.to_owned(), path.join(TOKEN_FILE)]
        .into_iter()
        .filter(|path| is_open_to_others(path))
        .map(|path| path.display().to_string())
        .collect();
    if open.is_empty() {
        Check::good("data", format!("{shown} is not accessible to other users"))
    } else {
        let detail = format!(
            "other users of this machine can access {}",
            open.join(" and ")
        );
        Check::bad("data", detail, format!("chmod -R go= {shown}"))
    }
}

/// None for a directory that does not exist, which `data_directory` reports.
fn last_backup(data: &Path, now: Timestamp) -> Option<Check> {
    const ADVICE: &str =
        "run `postrider backup FILE`, or set POSTRIDER_BACKUP_DIR for backups on a schedule";
    if !data.is_dir() {
        return None;
    }
    let Some(last) = backup::last_backup(data) else {
        return Some(Check::doubtful("backup", "never taken", ADVICE));
    };
    let age = now.since(last.taken_at);
    let detail = format!(
        "taken {} ago: {}",
        when::to_the_second(age),
        last.file.display()
    );
    Some(if age > BACKUP_WARNING {
        Check::doubtful("backup", detail, ADVICE)
    } else {
        Check::good("backup", detail)
    })
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Finding;

    #[test]
    fn clocks_are_compared_by_the_date_header() {
        let at = |seconds: i64| {
            let answer = Answer {
                date: Some("Sun, 06 Nov 1994 08:49:37 GMT".to_owned()),
                text: String::new(),
            };
            clock(
                &answer,
                Timestamp::from_millis((784_111_777 + seconds) * 1000),
            )
            .unwrap()
            .finding
        };
        assert_eq!(
            (at(0), at(-5), at(6), at(-301)),
            (
                Finding::Good,
                Finding::Good,
                Finding::Doubtful,
                Finding::Bad
            )
        );
        assert!(
            clock(
                &Answer {
                    date: None,
                    text: String::new()
                },
                Timestamp::ZERO
            )
            .is_none()
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_data_directory_accessible_to_others_is_reported() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let token = directory.path().join(TOKEN_FILE);
        std::fs::write(&token, "x").unwrap();
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(directory.path(), 0o700);
        set(&token, 0o600);
        assert_eq!(data_directory(directory.path()).finding, Finding::Good);
        set(&token, 0o640);
        let check = data_directory(directory.path());
        assert_eq!(check.finding, Finding::Bad);
        assert!(
            check.detail.contains(TOKEN_FILE) && !check.detail.contains(" and "),
            "{}",
            check.detail
        );
        assert_eq!(
            data_directory(&directory.path().join("gone")).finding,
            Finding::Doubtful
        );
    }
}
