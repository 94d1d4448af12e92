//! All commands except `serve` and `dev`.

pub(crate) mod aws;
mod backup;
mod completions;
mod deliveries;
mod doctor;
mod erase;
mod event_types;
mod events;
mod export;
mod filter;
mod follow;
mod import;
mod input;
mod keys;
mod listen;
mod man;
mod passphrase;
mod payload_filter;
mod policy;
mod portal_link;
mod restore;
mod retry;
mod send;
mod shadow;
mod show;
mod sign;
mod source_secret;
mod sources;
mod stats;
mod template;
mod tenants;
mod top;
pub(crate) mod trigger;
mod verify;
mod webhooks;

use clap::Subcommand;

use crate::args::GatewayArgs;
use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Publish an event
    Send(send::SendArgs),
    /// Receive webhooks on this machine: verify, show and answer them
    Listen(listen::ListenArgs),
    /// Manage webhooks
    Webhooks(webhooks::WebhooksArgs),
    /// Manage sources of inbound webhooks
    Sources(sources::SourcesArgs),
    /// Send a signed sample event, as GitHub, Stripe and others would
    Trigger(Box<trigger::TriggerArgs>),
    /// Show a stored event, deliver it to another webhook, or erase it
    Events(events::EventsArgs),
    /// List and follow deliveries
    Deliveries(deliveries::DeliveriesArgs),
    /// Show a delivery: every attempt, why it failed, what to do
    Show(show::ShowArgs),
    /// Retry a delivery, or many
    Retry(retry::RetryArgs),
    /// Send a delivery to another URL and compare the responses
    Shadow(shadow::ShadowArgs),
    /// Show key stats: success rate, latency, retries
    Stats(stats::StatsArgs),
    /// Watch key stats, webhooks needing attention and recent failures, live
    Top(top::TopArgs),
    /// Manage API keys
    Keys(keys::KeysArgs),
    /// Manage tenants and their limits
    Tenants(tenants::TenantsArgs),
    /// Manage the catalogue of event types
    EventTypes(event_types::EventTypesArgs),
    /// Create a link that logs a customer in to the portal
    PortalLink(portal_link::PortalLinkArgs),
    /// Sign a body as the gateway does (no network)
    Sign(sign::SignArgs),
    /// Verify a signature as a receiver should (no network)
    Verify(verify::VerifyArgs),
    /// Test a filter of a webhook or route (no network)
    Filter(payload_filter::FilterArgs),
    /// Test a template of a webhook, and show presets
    Template(template::TemplatesArgs),
    /// Draw a retry schedule and simulate an outage (no network)
    Policy(policy::PolicyArgs),
    /// Back up the data directory of a gateway, running or not, into one file
    Backup(backup::BackupArgs),
    /// Restore a backup into an empty data directory
    Restore(restore::RestoreArgs),
    /// Export webhooks, sources, keys and deliveries to a file, to move them to another gateway
    Export(export::ExportArgs),
    /// Import an export, or the endpoints of Svix or Convoy
    Import(import::ImportArgs),
    /// Check the gateway and the connection to it
    Doctor(doctor::DoctorArgs),
    /// Check, repair and restore the stack on AWS, through the `aws` command-line tool
    Aws(aws::AwsArgs),
    /// Print shell completions
    Completions(completions::CompletionsArgs),
    /// Write the man pages, for packages
    #[command(hide = true)]
    Man(man::ManArgs),
}

pub(crate) async fn run(task: Task, gateway: &GatewayArgs, out: Output) -> Result<Ending, Failure> {
    match task {
        Task::Send(args) => send::run(args, &Client::new(gateway)?, out).await,
        Task::Listen(args) => listen::run(args, gateway, out).await,
        Task::Webhooks(args) => webhooks::run(args, &Client::new(gateway)?, out).await,
        Task::Sources(args) => sources::run(args, &Client::new(gateway)?, out).await,
        Task::Trigger(args) => trigger::run(*args, gateway, out).await,
        Task::Events(args) => events::run(args, &Client::new(gateway)?, out).await,
        Task::Deliveries(args) => deliveries::run(args, &Client::new(gateway)?, out).await,
        Task::Show(args) => show::run(args, &Client::new(gateway)?, out).await,
        Task::Retry(args) => retry::run(args, &Client::new(gateway)?, out).await,
        Task::Shadow(args) => shadow::run(args, &Client::new(gateway)?, out).await,
        Task::Stats(args) => stats::run(args, &Client::new(gateway)?, out).await,
        Task::Top(args) => top::run(args, &Client::new(gateway)?, out).await,
        Task::Keys(args) => keys::run(args, &Client::new(gateway)?, out).await,
        Task::Tenants(args) => tenants::run(args, &Client::new(gateway)?, out).await,
        Task::EventTypes(args) => event_types::run(args, &Client::new(gateway)?, out).await,
        Task::PortalLink(args) => portal_link::run(args, &Client::new(gateway)?, out).await,
        Task::Sign(args) => sign::run(args, out),
        Task::Verify(args) => verify::run(args, out),
        Task::Filter(args) => payload_filter::run(args, out),
        Task::Template(args) => template::run(args, gateway, out).await,
        Task::Policy(args) => policy::run(args, out),
        Task::Backup(args) => backup::run(&args, &gateway.data, out),
        Task::Restore(args) => restore::run(args, &gateway.data, out).await,
        Task::Export(args) => export::run(args, &Client::new(gateway)?, out).await,
        Task::Import(args) => import::run(args, &Client::new(gateway)?, out).await,
        Task::Doctor(args) => doctor::run(args, gateway, out).await,
        Task::Aws(args) => aws::run(args, out).await,
        Task::Completions(args) => completions::run(&args, out),
        Task::Man(args) => man::run(&args),
    }
}
