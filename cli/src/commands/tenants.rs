//! `postrider tenants`: manage tenants and their limits.

use clap::{Args, Subcommand, ValueEnum};
use http::Method;
use postrider_api_types::tenant::{LimitFields, LimitsPatch, NewTenant, TenantPatch, TenantView};
use postrider_api_types::usage::{TenantUsageView, UsageParameters, UsageView};

use super::erase::{self, EraseArgs};
use crate::client::{Answer, Client};
use crate::failure::{Ending, Failure};
use crate::output::{Output, printable_line};
use crate::pages;
use crate::table::{Mark, Table, facts};
use crate::when::short_time;

const AFTER_HELP: &str = "\
Needs a key of the tenant `default`.

Examples:
  postrider tenants create acme --name 'Acme Ltd' --webhooks 20 --publish-rate 50
  postrider tenants list
  postrider tenants usage acme --from 2026-02-01 --to 2026-02-28
  postrider tenants update acme --publish-rate 100 --remove webhooks
  postrider keys create --name acme --scope publish --tenant acme
  postrider tenants delete acme --wait

`delete` deletes everything that the tenant has. It cannot be undone.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct TenantsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List tenants
    List,
    /// Create a tenant
    Create(CreateArgs),
    /// Show a tenant
    Show {
        /// Tenant id
        id: String,
    },
    /// Show what a tenant used, per day
    Usage(UsageArgs),
    /// Change the name or limits of a tenant; limits that are not given stay
    Update(UpdateArgs),
    /// Delete a tenant with everything in it
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// Tenant id: a-z, 0-9, - and _
    id: String,

    /// Display name
    #[arg(long)]
    name: String,

    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Debug, Args)]
struct UsageArgs {
    /// Tenant id [default: the tenant of the key]
    id: Option<String>,

    /// First day, such as 2026-02-21 [default: 30 days up to the last one]
    #[arg(long, value_name = "DAY")]
    from: Option<String>,

    /// Last day [default: today]
    #[arg(long, value_name = "DAY")]
    to: Option<String>,
}

#[derive(Debug, Args)]
struct DeleteArgs {
    /// Tenant id
    id: String,

    #[command(flatten)]
    erase: EraseArgs,
}

#[derive(Debug, Args)]
struct UpdateArgs {
    /// Tenant id
    id: String,

    /// Display name
    #[arg(long)]
    name: Option<String>,

    #[command(flatten)]
    limits: LimitArgs,

    /// Remove a limit; repeatable or comma-separated
    #[arg(long, value_delimiter = ',')]
    remove: Vec<Limit>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Maximum number of webhooks
    #[arg(long, value_name = "COUNT")]
    webhooks: Option<u32>,

    /// Published events per second
    #[arg(long, value_name = "RATE")]
    publish_rate: Option<u32>,

    /// Largest payload
    #[arg(long, value_name = "BYTES")]
    max_body_bytes: Option<u32>,

    /// Days that deliveries are stored
    #[arg(long, value_name = "DAYS")]
    retention_days: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Limit {
    Webhooks,
    PublishRate,
    MaxBodyBytes,
    RetentionDays,
}

pub(crate) async fn run(
    args: TenantsArgs,
    client: &Client,
    out: Output,
) -> Result<Ending, Failure> {
    match args.action {
        Action::List => list(client, out).await?,
        Action::Create(args) => {
            let answer = client.post(&["v1", "tenants"], &args.body()).await?;
            show(&answer, out)?;
        }
        Action::Show { id } => show(&client.get(&["v1", "tenants", &id]).await?, out)?,
        Action::Usage(args) => usage(args, client, out).await?,
        Action::Update(args) => {
            let path = ["v1", "tenants", &args.id];
            let answer = client.patch(&path, &args.body()?).await?;
            show(&answer, out)?;
        }
        Action::Delete(args) => return delete(args, client, out).await,
    }
    Ok(Ending::Fine)
}

impl CreateArgs {
    fn body(&self) -> NewTenant {
        let limits = LimitFields {
            webhooks: self.limits.webhooks,
            publish_rate: self.limits.publish_rate,
            max_body_bytes: self.limits.max_body_bytes,
            retention_days: self.limits.retention_days,
        };
        NewTenant {
            id: self.id.clone(),
            name: self.name.clone(),
            limits: Some(limits),
        }
    }
}

impl UpdateArgs {
    fn body(&self) -> Result<TenantPatch, Failure> {
        let changed = |limit, given: Option<u32>| match given {
            None => Ok(self.remove.contains(&limit).then_some(None)),
            Some(_) if self.remove.contains(&limit) => Err(Failure::Input(
                "a limit cannot be set and removed at the same time".to_owned(),
            )),
            Some(value) => Ok(Some(Some(value))),
        };
        let given = &self.limits;
        let limits = LimitsPatch {
            webhooks: changed(Limit::Webhooks, given.webhooks)?,
            publish_rate: changed(Limit::PublishRate, given.publish_rate)?,
            max_body_bytes: changed(Limit::MaxBodyBytes, given.max_body_bytes)?,
            retention_days: changed(Limit::RetentionDays, given.retention_days)?,
        };
        Ok(TenantPatch {
            name: self.name.clone(),
            limits: Some(Some(limits)),
        })
    }
}

async fn delete(args: DeleteArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let path = ["v1", "tenants", &args.id];
    let id = printable_line(&args.id, 64);
    let question =
        format!("Delete the tenant {id} with its webhooks, sources, keys, events and deliveries?");
    erase::run(&path, &question, &args.erase, client, out).await
}

async fn list(client: &Client, out: Output) -> Result<(), Failure> {
    let listing = pages::all(client, &["v1", "tenants"]).await?;
    if out.wants_json() {
        return out.value(&listing);
    }
    let mut table = Table::new([
        "ID",
        "NAME",
        "WEBHOOKS",
        "EVENTS/S",
        "MAX BYTES",
        "DAYS",
        "CREATED",
    ]);
    for tenant in listing.read::<TenantView>()? {
        let limit = |limit: Option<u32>| limit.map_or_else(|| "-".to_owned(), |n| n.to_string());
        let created = tenant.created_at.map(short_time);
        let limits = tenant.limits;
        table.row(
            Mark::None,
            [
                tenant.id,
                tenant.name,
                limit(limits.webhooks),
                limit(limits.publish_rate),
                limit(limits.max_body_bytes),
                limit(limits.retention_days),
                created.unwrap_or_else(|| "-".to_owned()),
            ],
        );
    }
    out.line(table.show(out))
}

async fn usage(args: UsageArgs, client: &Client, out: Output) -> Result<(), Failure> {
    let path = match &args.id {
        Some(id) => vec!["v1", "tenants", id, "usage"],
        None => vec!["v1", "usage"],
    };
    let days = UsageParameters {
        from: args.from.clone(),
        to: args.to.clone(),
    };
    let request = client.request(Method::GET, &path)?.query(&days);
    let answer = client.send(request).await?;
    if out.wants_json() {
        return out.document(&answer.text);
    }
    let used: TenantUsageView = answer.read()?;
    let mut table = Table::new(["DAY", "PUBLISHED", "DELIVERED", "ATTEMPTS", "BYTES"]);
    let row = |day: String, usage: UsageView| {
        [
            day,
            usage.published.to_string(),
            usage.delivered.to_string(),
            usage.attempts.to_string(),
            usage.bytes.to_string(),
        ]
    };
    for day in used.days {
        table.row(Mark::None, row(day.day, day.usage));
    }
    table.row(Mark::None, row("total".to_owned(), used.total));
    out.line(table.show(out))
}

fn show(answer: &Answer, out: Output) -> Result<(), Failure> {
    if out.wants_json() {
        return out.document(&answer.text);
    }
    let tenant: TenantView = answer.read()?;
    let limit = |limit: Option<u32>, unit: &str| limit.map(|n| format!("{n}{unit}"));
    let limits = tenant.limits;
    out.line(facts(
        out,
        [
            ("id", Some(tenant.id)),
            ("name", Some(tenant.name)),
            ("webhooks", limit(limits.webhooks, "")),
            ("publish rate", limit(limits.publish_rate, "/s")),
            ("largest payload", limit(limits.max_body_bytes, " bytes")),
            ("retention", limit(limits.retention_days, " days")),
            ("created", tenant.created_at.map(short_time)),
            ("changed", tenant.updated_at.map(short_time)),
            (
                "being deleted",
                tenant.deletion.map(|deletion| deletion.erasure_id),
            ),
        ],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(publish_rate: Option<u32>, remove: Vec<Limit>) -> UpdateArgs {
        UpdateArgs {
            id: "acme".to_owned(),
            name: None,
            limits: LimitArgs {
                webhooks: None,
                publish_rate,
                max_body_bytes: None,
                retention_days: None,
            },
            remove,
        }
    }

    #[test]
    fn only_what_is_given_changes() {
        let body = update(Some(7), vec![Limit::Webhooks]).body().unwrap();
        assert_eq!(
            serde_json::to_value(body).unwrap(),
            serde_json::json!({"limits": {"publish_rate": 7, "webhooks": null}})
        );
    }

    #[test]
    fn a_limit_is_not_set_and_removed_at_once() {
        assert!(update(Some(7), vec![Limit::PublishRate]).body().is_err());
    }
}
