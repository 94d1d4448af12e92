//! Fresh rows on AWS: a row is accepted without a lane, and a watcher that reads the stream gives a lane to those that stay
//! open.
//!
//! Messages may be lost, workers and the watcher may die anywhere, and the watcher may be late.

use stateright::{Model, Property};

const ROWS: usize = 2;
/// How often the watcher dies.
const DEATHS: u8 = 2;

/// A rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A batch is acknowledged before its rows have lanes.
    AcknowledgesBeforeTheBatchIsDone,
    /// A batch is acknowledged although a row could not be written.
    AcknowledgesAFailedBatch,
    /// A lane is given without a look at whether the row is still open.
    GivesClosedRowsALane,
    /// A lane raises the version of the row.
    RaisesTheVersion,
}

/// The model, with at most one flaw.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    pub(crate) flaw: Option<Flaw>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    Unpublished,
    Open,
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    stage: Stage,
    has_lane: bool,
    version: u8,
    has_message: bool,
    /// The version at which a worker claimed it.
    claimed: Option<u8>,
    /// The result of a worker that held it was rejected.
    result_rejected: bool,
}

/// What is to be done for each row of the batch: those that are open and have no lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Watcher {
    Idle,
    /// It has read the batch up to this record.
    Working {
        end: usize,
        left: [bool; ROWS],
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    rows: [Row; ROWS],
    /// The records of accepted rows, in order.
    stream: Vec<usize>,
    /// The records before this one are acknowledged.
    position: usize,
    watcher: Watcher,
    deaths: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Accept(usize),
    LoseMessage(usize),
    Claim(usize),
    /// The attempt succeeded.
    Close(usize),
    /// The attempt failed; the row is due again, in a lane.
    Retry(usize),
    WorkerDies(usize),
    ReadBatch(usize),
    GiveLane(usize),
    /// The store cannot write it.
    FailToGiveLane(usize),
    Acknowledge,
    WatcherDies,
}

impl Watch {
    fn read_batch(self, end: usize, mut state: State) -> Option<State> {
        if state.watcher != Watcher::Idle || end > state.stream.len() || end <= state.position {
            return None;
        }
        let mut left = [false; ROWS];
        for row in &state.stream[state.position..end] {
            let it = &state.rows[*row];
            left[*row] = it.stage == Stage::Open && !it.has_lane;
        }
        state.watcher = Watcher::Working { end, left };
        if self.flaw == Some(Flaw::AcknowledgesBeforeTheBatchIsDone) {
            state.position = end;
        }
        Some(state)
    }

    fn give_lane(self, row: usize, mut state: State) -> Option<State> {
        let Watcher::Working { left, .. } = &mut state.watcher else {
            return None;
        };
        if !std::mem::take(&mut left[row]) {
            return None;
        }
        let it = &mut state.rows[row];
        let is_open = it.stage == Stage::Open || self.flaw == Some(Flaw::GivesClosedRowsALane);
        if is_open && !it.has_lane {
            it.has_lane = true;
            it.version += u8::from(self.flaw == Some(Flaw::RaisesTheVersion));
        }
        Some(state)
    }

    /// Then the whole batch comes again.
    fn fail_to_give_lane(self, row: usize, mut state: State) -> Option<State> {
        let Watcher::Working { left, .. } = &mut state.watcher else {
            return None;
        };
        if !left[row] {
            return None;
        }
        if self.flaw == Some(Flaw::AcknowledgesAFailedBatch) {
            left[row] = false;
            return Some(state);
        }
        state.died()
    }
}

impl State {
    fn acknowledged(mut self) -> Option<Self> {
        match self.watcher {
            Watcher::Working { end, left } if left == [false; ROWS] => {
                self.position = end;
                self.watcher = Watcher::Idle;
                Some(self)
            }
            Watcher::Working { .. } | Watcher::Idle => None,
        }
    }

    fn died(mut self) -> Option<Self> {
        if self.deaths == DEATHS || self.watcher == Watcher::Idle {
            return None;
        }
        self.deaths += 1;
        self.watcher = Watcher::Idle;
        Some(self)
    }

    fn accepted(mut self, row: usize) -> Option<Self> {
        if self.rows[row].stage != Stage::Unpublished {
            return None;
        }
        self.rows[row].stage = Stage::Open;
        self.rows[row].has_message = true;
        self.stream.push(row);
        Some(self)
    }

    fn claimed(mut self, row: usize) -> Option<Self> {
        let it = &mut self.rows[row];
        if !it.has_message || it.stage != Stage::Open || it.claimed.is_some() {
            return None;
        }
        it.has_message = false;
        it.version += 1;
        it.claimed = Some(it.version);
        Some(self)
    }

    /// A worker writes a result, if the row still has the version of its claim.
    fn written(mut self, row: usize, stage: Stage) -> Option<Self> {
        let it = &mut self.rows[row];
        let version = it.claimed.take()?;
        if version == it.version {
            it.stage = stage;
            it.has_lane = stage == Stage::Open;
            it.version += 1;
        } else {
            it.result_rejected = true;
        }
        Some(self)
    }

    /// Whether the poller finds the row, or the watcher will see it.
    fn is_found(&self, row: usize) -> bool {
        let is_ahead = self.stream[self.position..].contains(&row);
        self.rows[row].stage != Stage::Open || self.rows[row].has_lane || is_ahead
    }
}

impl Model for Watch {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let row = Row {
            stage: Stage::Unpublished,
            has_lane: false,
            version: 0,
            has_message: false,
            claimed: None,
            result_rejected: false,
        };
        vec![State {
            rows: [row; ROWS],
            stream: Vec::new(),
            position: 0,
            watcher: Watcher::Idle,
            deaths: 0,
        }]
    }

    fn actions(&self, _: &State, actions: &mut Vec<Action>) {
        for row in 0..ROWS {
            actions.extend([
                Action::Accept(row),
                Action::LoseMessage(row),
                Action::Claim(row),
                Action::Close(row),
                Action::Retry(row),
                Action::WorkerDies(row),
                Action::ReadBatch(row + 1),
                Action::GiveLane(row),
                Action::FailToGiveLane(row),
            ]);
        }
        actions.extend([Action::Acknowledge, Action::WatcherDies]);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Accept(row) => state.accepted(row),
            Action::LoseMessage(row) => {
                std::mem::take(&mut state.rows[row].has_message).then_some(state)
            }
            Action::Claim(row) => state.claimed(row),
            Action::Close(row) => state.written(row, Stage::Closed),
            Action::Retry(row) => state.written(row, Stage::Open),
            Action::WorkerDies(row) => state.rows[row].claimed.take().map(|_| state),
            Action::ReadBatch(end) => self.read_batch(end, state),
            Action::GiveLane(row) => self.give_lane(row, state),
            Action::FailToGiveLane(row) => self.fail_to_give_lane(row, state),
            Action::Acknowledge => state.acknowledged(),
            Action::WatcherDies => state.died(),
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("every open row is found", |_, state: &State| {
                (0..ROWS).all(|row| state.is_found(row))
            }),
            Property::always("a closed row has no lane", |_, state: &State| {
                let is_wrong = |row: &Row| row.stage == Stage::Closed && row.has_lane;
                !state.rows.iter().any(is_wrong)
            }),
            Property::always("a holder can write its result", |_, state: &State| {
                !state.rows.iter().any(|row| row.result_rejected)
            }),
            Property::sometimes(
                "a row whose message is lost gets a lane",
                |_, state: &State| {
                    let recovered =
                        |row: &Row| row.has_lane && row.version == 0 && !row.has_message;
                    state.rows.iter().any(recovered)
                },
            ),
        ]
    }
}
