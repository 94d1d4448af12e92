//! Workers that move rows to the backlog of a webhook, and a drainer that removes its registration once it is empty.
//!
//! The poller knows only registered backlogs, so a row in a backlog without a registration would wait for ever. A worker may
//! die between two steps, and the index of the backlog lags. Both are bounded: a function runs for less than a tick, and
//! the index shows a row after one tick at the latest.

use postrider_domain::ids::TenantId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::drains::Registration;
use postrider_testkit::builders;
use stateright::{Model, Property};

/// A function runs for a minute, and an index may lag by minutes.
const TICK: Millis = Millis::from_seconds(299);
const END: u8 = 7;

/// A rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The row is moved before the backlog is registered.
    MovesBeforeItRegisters,
    /// The registration is removed without a wait for the index.
    DoesNotWaitForTheIndex,
    /// The registration is removed even if it was renewed.
    RemovesARenewedRegistration,
}

/// The model, with at most one flaw.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backlog {
    pub(crate) flaw: Option<Flaw>,
}

/// A worker and the row that it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mover {
    /// How many of its two steps are done, and when the first was; `None` before.
    begun_at: Option<u8>,
    steps: u8,
    is_dead: bool,
    /// When the row was moved.
    moved_at: Option<u8>,
    drained: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Drainer {
    Idle,
    /// It looks since then.
    Looking(u8),
    /// It has read the registration.
    HasRead(u8, Option<u8>),
    /// It has read the index, and no row was there.
    FoundNothing(u8, Option<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    now: u8,
    /// When the registration was last renewed.
    registered_at: Option<u8>,
    movers: [Mover; 2],
    drainer: Drainer,
}

/// What a lagging index shows of a row that was moved less than a tick ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    IsCurrent,
    Lags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Tick,
    Step(usize),
    Die(usize),
    /// The drainer's next step.
    Look(Index),
}

fn instant(ticks: u8) -> Timestamp {
    (0..ticks).fold(builders::after(0), |at, _| at.plus(TICK))
}

impl Backlog {
    fn step(self, mover: usize, mut state: State) -> Option<State> {
        let now = state.now;
        let it = &mut state.movers[mover];
        if it.is_dead || it.steps == 2 {
            return None;
        }
        let registers = (it.steps == 0) != (self.flaw == Some(Flaw::MovesBeforeItRegisters));
        it.begun_at.get_or_insert(now);
        it.steps += 1;
        if registers {
            state.registered_at = Some(now);
        } else {
            it.moved_at = Some(now);
        }
        Some(state)
    }

    fn look(self, index: Index, mut state: State) -> State {
        state.drainer = match state.drainer {
            Drainer::Idle => Drainer::Looking(state.now),
            Drainer::Looking(at) => Drainer::HasRead(at, state.registered_at),
            Drainer::HasRead(at, registered_at) => {
                let mut found = false;
                for mover in &mut state.movers {
                    let is_shown = mover
                        .moved_at
                        .is_some_and(|moved_at| moved_at < state.now || index == Index::IsCurrent);
                    if is_shown && !mover.drained {
                        mover.drained = true;
                        found = true;
                    }
                }
                if found {
                    Drainer::Idle
                } else {
                    Drainer::FoundNothing(at, registered_at)
                }
            }
            Drainer::FoundNothing(at, registered_at) => {
                self.remove(at, registered_at, &mut state);
                Drainer::Idle
            }
        };
        state
    }

    fn remove(self, looked_at: u8, seen: Option<u8>, state: &mut State) {
        let Some(touched_at) = seen else { return };
        let registration = Registration {
            tenant: TenantId::default(),
            webhook: builders::webhook_id(1),
            touched_at: instant(touched_at),
        };
        let is_settled = registration.is_settled(instant(looked_at))
            || self.flaw == Some(Flaw::DoesNotWaitForTheIndex);
        let is_unchanged =
            state.registered_at == seen || self.flaw == Some(Flaw::RemovesARenewedRegistration);
        if is_settled && is_unchanged {
            state.registered_at = None;
        }
    }

    fn tick(mut state: State) -> Option<State> {
        let is_over =
            |mover: &Mover| !mover.is_dead && mover.steps == 1 && mover.begun_at != Some(state.now);
        if state.now == END || state.movers.iter().any(is_over) {
            return None;
        }
        state.now += 1;
        Some(state)
    }
}

impl State {
    fn died(mut self, mover: usize) -> Option<Self> {
        let it = &mut self.movers[mover];
        if it.is_dead || it.steps != 1 {
            return None;
        }
        it.is_dead = true;
        Some(self)
    }

    fn is_known(&self) -> bool {
        let waits = |mover: &Mover| mover.moved_at.is_some() && !mover.drained;
        self.registered_at.is_some() || !self.movers.iter().any(waits)
    }
}

impl Model for Backlog {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mover = Mover {
            begun_at: None,
            steps: 0,
            is_dead: false,
            moved_at: None,
            drained: false,
        };
        vec![State {
            now: 0,
            registered_at: None,
            movers: [mover; 2],
            drainer: Drainer::Idle,
        }]
    }

    fn actions(&self, _: &State, actions: &mut Vec<Action>) {
        actions.push(Action::Tick);
        actions.extend((0..2).flat_map(|mover| [Action::Step(mover), Action::Die(mover)]));
        actions.extend([Action::Look(Index::IsCurrent), Action::Look(Index::Lags)]);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        match action {
            Action::Tick => Self::tick(*last),
            Action::Step(mover) => self.step(mover, *last),
            Action::Die(mover) => last.died(mover),
            Action::Look(index) => Some(self.look(index, *last)),
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a row in a backlog is registered", |_, state: &State| {
                state.is_known()
            }),
            Property::sometimes("a registration is removed", |_, state: &State| {
                state.registered_at.is_none() && state.movers.iter().all(|mover| mover.drained)
            }),
        ]
    }
}
