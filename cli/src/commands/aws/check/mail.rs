//! Whether SES sends the stack's e-mails.

use serde_json::Value;

use super::super::json::at;
use super::super::stack::Stack;
use super::super::tool::{AwsCall, AwsError, AwsTool};
use super::{known, unknown};
use crate::checks::Check;

const NAME: &str = "mail";

pub(super) async fn check(stack: &Stack, tool: &AwsTool) -> Vec<Check> {
    let Some(sender) = stack.parameter("MailFrom") else {
        return vec![Check::doubtful(
            NAME,
            "no e-mail is sent when a webhook fails",
            "deploy with MailFrom=…, an identity verified in SES",
        )];
    };
    let account = AwsCall::new("sesv2", "get-account");
    let (account, is_verified) = tokio::join!(tool.run(&account), is_verified(sender, tool));
    let account = known(NAME, account).map_or_else(|check| check, |account| sandbox(&account));
    let identity = match is_verified {
        Ok(true) => Check::good(NAME, format!("{sender} is verified")),
        Ok(false) => Check::bad(
            NAME,
            format!("SES does not send as {sender}: it is not verified"),
            "verify the address or its domain in SES",
        ),
        Err(error) => unknown(NAME, &error),
    };
    vec![identity, account]
}

/// Verified as an address or through its domain.
async fn is_verified(sender: &str, tool: &AwsTool) -> Result<bool, AwsError> {
    let domain = sender.split_once('@').map(|(_, domain)| domain);
    for identity in [Some(sender), domain].into_iter().flatten() {
        let get = AwsCall::new("sesv2", "get-email-identity").option("--email-identity", identity);
        match tool.run(&get).await {
            Ok(found) if at(&found, "/VerifiedForSendingStatus") == true => return Ok(true),
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

fn sandbox(account: &Value) -> Check {
    if at(account, "/ProductionAccessEnabled") == true {
        Check::good(NAME, "SES sends to any recipient")
    } else {
        Check::doubtful(
            NAME,
            "the account is in the SES sandbox: only verified recipients get e-mail",
            "request production access in the SES console",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Finding;
    use serde_json::json;

    #[test]
    fn an_account_in_the_sandbox_is_doubtful() {
        let finding = |enabled: bool| sandbox(&json!({"ProductionAccessEnabled": enabled})).finding;
        assert_eq!(
            (finding(true), finding(false)),
            (Finding::Good, Finding::Doubtful)
        );
    }
}
