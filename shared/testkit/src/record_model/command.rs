//! The commands, and how sequences of them are drawn.

use proptest::prelude::*;

use super::catalogue::{self, EventTypeCommand};
use super::drains::{self, DrainCommand};
use super::emails::{self, EmailCommand};
use super::erasures::{self, ErasureCommand};
use super::jobs::{self, JobCommand};
use super::keys::{self, KeyCommand};
use super::limiters::{self, LimiterCommand};
use super::portals::{self, PortalCommand};
use super::probes::{self, ProbeCommand};
use super::rejections::{self, RejectionCommand};
use super::sources::{self, SourceCommand};
use super::tenants::{self, TenantCommand};
use super::webhooks::{self, WebhookCommand};
use crate::processes::{Process, Whose};

/// Beyond what a clock may differ by, a drain lease, what settles, a link to the portal, the longest wait between probes, a
/// session, an ended portal, and a rejected request.
const HORIZONS_MS: [u64; 8] = [
    6_000,
    61_000,
    300_000,
    601_000,
    3_600_000,
    86_400_000,
    28 * 3_600_000,
    7 * 86_400_000,
];

/// A command with those that it is for.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// The process that carries it out.
    pub(super) by: Process,
    pub(super) tenant: Whose,
    pub(super) command: Command,
}

/// What a caller acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Current,
    Outdated,
}

/// A command to a store. Numbers choose among the known records of the tenant, also those that are gone.
#[derive(Clone, Debug)]
pub(super) enum Command {
    Key(KeyCommand),
    Source(SourceCommand),
    EventType(EventTypeCommand),
    Tenant(TenantCommand),
    Job(JobCommand),
    Portal(PortalCommand),
    Erasure(ErasureCommand),
    Webhook(WebhookCommand),
    Probe(ProbeCommand),
    Drain(DrainCommand),
    Limiter(LimiterCommand),
    Rejection(RejectionCommand),
    Email(EmailCommand),
    Step {
        ms: u64,
    },
    /// The first process ends, and another one opens the store.
    Reopen,
    /// The second process ends, and another one opens the store.
    Replace,
}

/// A sequence is about one theme, so that its commands meet, or about everything.
pub(super) fn sequence() -> impl Strategy<Value = Vec<Turn>> {
    let everything = prop_oneof![settings(), progress(), flow(), failures()];
    prop_oneof![
        1 => turns(settings()),
        1 => turns(progress()),
        2 => turns(flow()),
        1 => turns(failures()),
        1 => turns(everything),
    ]
}

fn turns(theme: impl Strategy<Value = Command>) -> impl Strategy<Value = Vec<Turn>> {
    let by = prop_oneof![3 => Just(Process::First), 2 => Just(Process::Second)];
    let tenant = prop_oneof![3 => Just(Whose::Ours), 2 => Just(Whose::Theirs)];
    let command = prop_oneof![9 => theme, 2 => passing()];
    let turn = (by, tenant, command).prop_map(|(by, tenant, command)| Turn {
        by,
        tenant,
        command,
    });
    prop::collection::vec(turn, 1..60)
}

pub(super) fn seen() -> impl Strategy<Value = Seen> {
    prop_oneof![2 => Just(Seen::Current), 1 => Just(Seen::Outdated)]
}

fn settings() -> impl Strategy<Value = Command> {
    prop_oneof![
        4 => keys::command().prop_map(Command::Key),
        4 => sources::command().prop_map(Command::Source),
        2 => catalogue::command().prop_map(Command::EventType),
        2 => tenants::command().prop_map(Command::Tenant),
    ]
}

fn progress() -> impl Strategy<Value = Command> {
    prop_oneof![
        3 => jobs::command().prop_map(Command::Job),
        3 => portals::command().prop_map(Command::Portal),
        2 => erasures::command().prop_map(Command::Erasure),
    ]
}

fn flow() -> impl Strategy<Value = Command> {
    prop_oneof![
        1 => webhooks::command().prop_map(Command::Webhook),
        3 => drains::command().prop_map(Command::Drain),
        1 => limiters::command().prop_map(Command::Limiter),
    ]
}

fn failures() -> impl Strategy<Value = Command> {
    prop_oneof![
        5 => webhooks::command().prop_map(Command::Webhook),
        4 => probes::command().prop_map(Command::Probe),
        6 => emails::command().prop_map(Command::Email),
        1 => sources::command().prop_map(Command::Source),
        4 => rejections::command().prop_map(Command::Rejection),
    ]
}

fn passing() -> impl Strategy<Value = Command> {
    prop_oneof![
        3 => (0..30_000_u64).prop_map(|ms| Command::Step { ms }),
        3 => prop::sample::select(&HORIZONS_MS[..]).prop_map(|ms| Command::Step { ms }),
        1 => Just(Command::Reopen),
        1 => Just(Command::Replace),
    ]
}
