//! What the account allows, compared with what the stack may use.

use serde_json::Value;

use super::super::json::{at, list};
use super::super::stack::Stack;
use super::super::tool::{AwsCall, AwsTool};
use super::known;
use crate::checks::Check;

/// For functions without a limit of their own: api, receiver, poller, publisher and the rest.
const OTHER_FUNCTIONS: u64 = 10;

/// A quota whose name contains these words, in a service of Service Quotas.
struct Quota {
    check: &'static str,
    service: &'static str,
    words: &'static [&'static str],
    /// The parameter of the stack that must not exceed it.
    parameter: Option<&'static str>,
}

const QUOTAS: [Quota; 3] = [
    Quota {
        check: "dynamodb",
        service: "dynamodb",
        words: &["table", "write throughput"],
        parameter: None,
    },
    Quota {
        check: "http api",
        service: "apigateway",
        words: &["throttle rate"],
        parameter: Some("ThrottleRate"),
    },
    Quota {
        check: "sns",
        service: "sns",
        words: &["publish"],
        parameter: None,
    },
];

pub(super) async fn check(stack: &Stack, tool: &AwsTool) -> Vec<Check> {
    let settings = AwsCall::new("lambda", "get-account-settings");
    let call = |quota: &Quota| {
        AwsCall::new("service-quotas", "list-service-quotas")
            .option("--service-code", quota.service)
    };
    let [dynamodb, api, sns] = QUOTAS;
    let calls = [call(&dynamodb), call(&api), call(&sns)];
    let [dynamodb_list, api_list, sns_list] = calls.each_ref();
    let (settings, of_dynamodb, of_api, of_sns) = tokio::join!(
        tool.run(&settings),
        tool.run(dynamodb_list),
        tool.run(api_list),
        tool.run(sns_list),
    );
    let concurrency = known("concurrency", settings).map(|settings| concurrency(&settings, stack));
    let quotas = [(dynamodb, of_dynamodb), (api, of_api), (sns, of_sns)];
    let quotas = quotas.into_iter().map(|(quota, listed)| {
        let listed = known(quota.check, listed);
        listed.map_or_else(|check| check, |listed| compare(&quota, &listed, stack))
    });
    [concurrency.unwrap_or_else(|check| check)]
        .into_iter()
        .chain(quotas)
        .collect()
}

fn concurrency(settings: &Value, stack: &Stack) -> Check {
    const NAME: &str = "concurrency";
    let limit = |name: &str| at(settings, "/AccountLimit").get(name)?.as_u64();
    let (Some(all), Some(unreserved)) = (
        limit("ConcurrentExecutions"),
        limit("UnreservedConcurrentExecutions"),
    ) else {
        return Check::unknown(NAME, "not checked: AWS reports no limit");
    };
    let dispatchers = stack.parameter("MaxConcurrency");
    let dispatchers: u64 = dispatchers.and_then(|it| it.parse().ok()).unwrap_or(0);
    let advice = "ask for more: aws service-quotas request-service-quota-increase --service-code lambda \
                  --quota-code L-B99A9384 --desired-value 1000, or deploy with a lower MaxConcurrency";
    let detail = format!(
        "the account allows {all} concurrent executions, {unreserved} of them not reserved; the stack may use \
         {dispatchers} for dispatchers and as many for drainers"
    );
    if unreserved <= dispatchers {
        Check::bad(
            NAME,
            format!("{detail}: when they are busy, the API is throttled"),
            advice,
        )
    } else if unreserved < 2 * dispatchers + OTHER_FUNCTIONS {
        Check::doubtful(NAME, detail, advice)
    } else {
        Check::good(NAME, detail)
    }
}

fn compare(quota: &Quota, listed: &Value, stack: &Stack) -> Check {
    let quotas = list(listed, "/Quotas");
    let named =
        quotas.filter_map(|it| Some((at(it, "/QuotaName").as_str()?, at(it, "/Value").as_f64()?)));
    let matching = named.filter(|(name, _)| {
        let name = name.to_lowercase();
        quota.words.iter().all(|word| name.contains(word))
    });
    // "Throttle rate" is the name of one quota and part of others.
    let Some((name, value)) = matching.min_by_key(|(name, _)| name.len()) else {
        return Check::unknown(
            quota.check,
            format!(
                "not checked: Service Quotas lists no quota of {} with \"{}\"",
                quota.service,
                quota.words.join("\" and \"")
            ),
        );
    };
    let detail = format!("{name}: {value}");
    let wanted = quota.parameter.and_then(|parameter| {
        let wanted = stack.parameter(parameter)?;
        Some((parameter, wanted.parse::<f64>().ok()?))
    });
    match wanted {
        Some((parameter, wanted)) if wanted > value => Check::doubtful(
            quota.check,
            format!("{detail}, but {parameter} is {wanted}"),
            "ask for a higher quota in Service Quotas, or deploy with a lower value",
        ),
        Some(_) | None => Check::good(quota.check, detail),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::stack::tests::sample;
    use super::*;
    use crate::checks::Finding;
    use serde_json::json;

    #[test]
    fn a_new_account_is_too_small_for_the_default_concurrency() {
        let finding = |unreserved: u64, dispatchers: &str| {
            let limit = json!({"ConcurrentExecutions": unreserved, "UnreservedConcurrentExecutions": unreserved});
            let stack = sample(&[("MaxConcurrency", dispatchers)]);
            concurrency(&json!({"AccountLimit": limit}), &stack).finding
        };
        assert_eq!(finding(10, "50"), Finding::Bad);
        assert_eq!(finding(10, "10"), Finding::Bad);
        assert_eq!(finding(10, "3"), Finding::Doubtful);
        assert_eq!(finding(100, "50"), Finding::Doubtful);
        assert_eq!(finding(1000, "50"), Finding::Good);
    }

    #[test]
    fn a_quota_is_found_by_name_and_compared_with_its_parameter() {
        let quotas = json!({"Quotas": [
            {"QuotaName": "Throttle burst rate", "Value": 5000.0},
            {"QuotaName": "Throttle rate", "Value": 10000.0},
        ]});
        let [_, api, sns] = QUOTAS;
        let check = compare(&api, &quotas, &sample(&[("ThrottleRate", "1000")]));
        assert_eq!(check, Check::good("http api", "Throttle rate: 10000"));
        let check = compare(&api, &quotas, &sample(&[("ThrottleRate", "20000")]));
        assert_eq!(check.finding, Finding::Doubtful);
        let check = compare(&sns, &quotas, &sample(&[]));
        assert_eq!(check.finding, Finding::Unknown);
    }
}
