//! Everything but `serve`.

mod completions;
mod deliveries;
mod doctor;
mod filter;
mod follow;
mod input;
mod keys;
mod listen;
mod policy;
mod retry;
mod retry_flags;
mod send;
mod shadow;
mod show;
mod sign;
mod source_secret;
mod sources;
mod stats;
mod top;
mod trigger;
mod verify;
mod webhooks;

use clap::Subcommand;

use crate::args::GatewayArgs;
use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::Output;

/// What can be asked of a gateway, or without one.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Publish an event
    Send(send::SendArgs),
    /// Receive webhooks here: verify them, show them, answer as told
    Listen(listen::ListenArgs),
    /// Keep webhooks: where events go
    Webhooks(webhooks::WebhooksArgs),
    /// Keep sources: who may post events in, and where those go
    Sources(sources::SourcesArgs),
    /// Post a signed sample event, as GitHub, Stripe and others do
    Trigger(Box<trigger::TriggerArgs>),
    /// See what happened to deliveries
    Deliveries(deliveries::DeliveriesArgs),
    /// Show one delivery: every attempt, why it failed, what to do
    Show(show::ShowArgs),
    /// Send a delivery again, or all that failed
    Retry(retry::RetryArgs),
    /// Send a delivery to another URL and compare the answers
    Shadow(shadow::ShadowArgs),
    /// See how the webhooks did: success rate, latency, retries
    Stats(stats::StatsArgs),
    /// Watch it live: the figures, webhooks that need a person, what failed last
    Top(top::TopArgs),
    /// Keep API keys
    Keys(keys::KeysArgs),
    /// Sign a body as the gateway does (no network)
    Sign(sign::SignArgs),
    /// Verify a signature as a receiver should (no network)
    Verify(verify::VerifyArgs),
    /// Draw a retry schedule and what it makes of an outage (no network)
    Policy(policy::PolicyArgs),
    /// Find out what is wrong with the gateway or the way to it
    Doctor(doctor::DoctorArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
}

/// Does what was asked.
pub(crate) async fn run(task: Task, gateway: &GatewayArgs, out: Output) -> Result<Ending, Failure> {
    match task {
        Task::Send(args) => send::run(args, &Client::new(gateway)?, out).await,
        Task::Listen(args) => listen::run(args, gateway, out).await,
        Task::Webhooks(args) => webhooks::run(args, &Client::new(gateway)?, out).await,
        Task::Sources(args) => sources::run(args, &Client::new(gateway)?, out).await,
        Task::Trigger(args) => trigger::run(*args, gateway, out).await,
        Task::Deliveries(args) => deliveries::run(args, &Client::new(gateway)?, out).await,
        Task::Show(args) => show::run(args, &Client::new(gateway)?, out).await,
        Task::Retry(args) => retry::run(args, &Client::new(gateway)?, out).await,
        Task::Shadow(args) => shadow::run(args, &Client::new(gateway)?, out).await,
        Task::Stats(args) => stats::run(args, &Client::new(gateway)?, out).await,
        Task::Top(args) => top::run(args, &Client::new(gateway)?, out).await,
        Task::Keys(args) => keys::run(args, &Client::new(gateway)?, out).await,
        Task::Sign(args) => sign::run(args, out),
        Task::Verify(args) => verify::run(args, out),
        Task::Policy(args) => policy::run(args, out),
        Task::Doctor(args) => doctor::run(args, gateway, out).await,
        Task::Completions(args) => completions::run(&args, out),
    }
}
