//! The commands, and how sequences of them are drawn.

use postrider_domain::delivery::DeadCause;
use proptest::prelude::*;

use crate::interruption::{Fault, Interruption};
use crate::processes::{Process, Whose};

/// Beyond a lease, what SQS can delay, the hour of a counter, and a day.
const HORIZONS_MS: [u64; 4] = [121_000, 901_000, 3_600_001, 86_400_001];
/// What is delivered is stored for 30 days and what is dead for 90; DynamoDB stores events for a week longer.
const RETENTION_DAYS: [u64; 4] = [30, 37, 90, 97];

/// A command with those that it is for.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// The process that carries it out.
    pub(super) by: Process,
    pub(super) tenant: Whose,
    pub(super) command: Command,
    /// What fails first while it is carried out.
    pub(super) interruption: Option<Interruption>,
}

/// A command to a store. Numbers choose among the existing rows, claims, events and webhooks of the tenant.
#[derive(Clone, Debug)]
pub(super) enum Command {
    Accept {
        webhooks: u8,
        claim: bool,
        plan: Plan,
    },
    /// The request of an earlier event comes again, or another one under its key.
    Repeat {
        event: usize,
        request: Request,
        claim: bool,
        plan: Plan,
    },
    /// Adds a row to an event.
    Add {
        event: usize,
        webhook: usize,
    },
    Claim {
        row: usize,
    },
    ClaimAgain {
        claim: usize,
    },
    Apply {
        claim: usize,
        ending: Ending,
    },
    Renew {
        claim: usize,
    },
    GiveBack {
        claim: usize,
    },
    Step {
        ms: u64,
    },
    Requeue {
        row: usize,
        force: bool,
    },
    SetStatus {
        webhook: usize,
        status: usize,
    },
    /// Changes the settings of a webhook, as its operator last saw it or earlier.
    ChangeSettings {
        webhook: usize,
        seen: Plan,
    },
    MoveToBacklog {
        row: usize,
    },
    Drain {
        row: usize,
    },
    Delete {
        webhook: usize,
    },
    /// Deletes a webhook, and ends the rows of deleted ones.
    EndDeleted {
        webhook: usize,
        limit: usize,
    },
    Erase {
        event: usize,
    },
    /// So much later, what is past its retention is removed.
    Expire {
        days: u64,
        limit: usize,
    },
    /// Uses the ids of a row, its event and its webhook under the other tenant.
    Confuse {
        row: usize,
    },
    /// The watch gets around to some fresh rows.
    Watch {
        from: usize,
        count: usize,
    },
    /// The first process ends, and another one opens the store.
    Reopen,
    /// The second process ends, and another one opens the store.
    Replace,
}

/// What a caller acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    Current,
    Outdated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Same,
    Another,
}

/// The result of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    Deliver,
    Retry { after_ms: u64 },
    Die(DeadCause),
}

pub(super) fn turn() -> impl Strategy<Value = Turn> {
    let by = prop_oneof![3 => Just(Process::First), 2 => Just(Process::Second)];
    let tenant = prop_oneof![3 => Just(Whose::Ours), 1 => Just(Whose::Theirs)];
    let interruption = prop::option::weighted(0.25, interruption());
    let turn = (by, tenant, command(), interruption);
    turn.prop_map(|(by, tenant, command, interruption)| Turn {
        by,
        tenant,
        command,
        interruption,
    })
}

/// One call fails, or all from that one on.
fn interruption() -> impl Strategy<Value = Interruption> {
    let faults = [Fault::Throttled, Fault::AnswerLost, Fault::Unreachable];
    let fault = prop::sample::select(faults.to_vec());
    let drawn = (0..6_usize, any::<bool>(), fault);
    drawn.prop_map(|(first, is_one, fault)| Interruption {
        calls: first..if is_one { first + 1 } else { usize::MAX },
        fault,
    })
}

fn command() -> impl Strategy<Value = Command> {
    let number = any::<usize>;
    let plan = || prop_oneof![4 => Just(Plan::Current), 1 => Just(Plan::Outdated)];
    let request = prop_oneof![2 => Just(Request::Same), 1 => Just(Request::Another)];
    let ending = prop_oneof![
        3 => Just(Ending::Deliver),
        4 => (0..40_000_u64).prop_map(|after_ms| Ending::Retry { after_ms }),
        1 => Just(Ending::Die(DeadCause::Exhausted)),
        1 => Just(Ending::Die(DeadCause::ExhaustedFailingWebhook)),
        1 => Just(Ending::Die(DeadCause::Gone)),
    ];
    let handling = prop_oneof![
        6 => (1..4_u8, any::<bool>(), plan())
            .prop_map(|(webhooks, claim, plan)| Command::Accept { webhooks, claim, plan }),
        2 => (number(), request, any::<bool>(), plan())
            .prop_map(|(event, request, claim, plan)| Command::Repeat { event, request, claim, plan }),
        1 => (number(), number()).prop_map(|(event, webhook)| Command::Add { event, webhook }),
        8 => number().prop_map(|row| Command::Claim { row }),
        2 => number().prop_map(|claim| Command::ClaimAgain { claim }),
        9 => (number(), ending).prop_map(|(claim, ending)| Command::Apply { claim, ending }),
        1 => number().prop_map(|claim| Command::Renew { claim }),
        1 => number().prop_map(|claim| Command::GiveBack { claim }),
        2 => number().prop_map(|row| Command::MoveToBacklog { row }),
        5 => number().prop_map(|row| Command::Drain { row }),
        3 => (number(), 1..4_usize).prop_map(|(from, count)| Command::Watch { from, count }),
    ];
    let managing = prop_oneof![
        3 => (number(), any::<bool>()).prop_map(|(row, force)| Command::Requeue { row, force }),
        4 => (number(), 0..4_usize).prop_map(|(webhook, status)| Command::SetStatus { webhook, status }),
        1 => (number(), plan()).prop_map(|(webhook, seen)| Command::ChangeSettings { webhook, seen }),
        1 => number().prop_map(|webhook| Command::Delete { webhook }),
        2 => (number(), prop::sample::select(&[1, 1_000][..]))
            .prop_map(|(webhook, limit)| Command::EndDeleted { webhook, limit }),
        1 => number().prop_map(|event| Command::Erase { event }),
        1 => number().prop_map(|row| Command::Confuse { row }),
    ];
    let passing = prop_oneof![
        5 => (0..30_000_u64).prop_map(|ms| Command::Step { ms }),
        2 => prop::sample::select(&HORIZONS_MS[..]).prop_map(|ms| Command::Step { ms }),
        1 => (prop::sample::select(&RETENTION_DAYS[..]), prop::sample::select(&[1, 1_000][..]))
            .prop_map(|(days, limit)| Command::Expire { days, limit }),
        1 => Just(Command::Reopen),
        2 => Just(Command::Replace),
    ];
    prop_oneof![40 => handling, 12 => managing, 9 => passing]
}
