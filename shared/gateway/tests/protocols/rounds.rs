//! A walk through pages in several parts: the poller over registered backlogs, a sweep over accepted rows. It stores how far
//! it has come, and may be interrupted anywhere.

use stateright::{Model, Property};

const PAGES: usize = 3;
const INTERRUPTIONS: u8 = 3;

/// A rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The position moves behind a page before the page is done.
    MovesBeforeThePageIsDone,
}

/// The model, with at most one flaw.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) flaw: Option<Flaw>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Walker {
    Idle,
    /// It has read this page.
    HasRead(usize),
    /// It has one of the two steps behind it: handling the page and storing the position.
    Between(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    position: usize,
    handled: [bool; PAGES],
    walker: Walker,
    interruptions: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Read,
    Handle(usize),
    Store(usize),
    Interrupt,
}

impl Model for Rounds {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            position: 0,
            handled: [false; PAGES],
            walker: Walker::Idle,
            interruptions: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let stores_first = self.flaw == Some(Flaw::MovesBeforeThePageIsDone);
        match (state.walker, stores_first) {
            (Walker::Idle, _) => actions.push(Action::Read),
            (Walker::HasRead(page), false) | (Walker::Between(page), true) => {
                actions.push(Action::Handle(page));
            }
            (Walker::HasRead(page), true) | (Walker::Between(page), false) => {
                actions.push(Action::Store(page));
            }
        }
        actions.push(Action::Interrupt);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = *last;
        let next = match state.walker {
            Walker::HasRead(page) => Walker::Between(page),
            Walker::Idle | Walker::Between(_) => Walker::Idle,
        };
        match action {
            Action::Read if state.position == PAGES => return None,
            Action::Read => state.walker = Walker::HasRead(state.position),
            Action::Handle(page) => {
                state.handled[page] = true;
                state.walker = next;
            }
            Action::Store(page) => {
                state.position = page + 1;
                state.walker = next;
            }
            Action::Interrupt if state.interruptions == INTERRUPTIONS => return None,
            Action::Interrupt => {
                state.walker = Walker::Idle;
                state.interruptions += 1;
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no page is left out", |_, state: &State| {
                state.walker != Walker::Idle
                    || state
                        .handled
                        .iter()
                        .take(state.position)
                        .all(|handled| *handled)
            }),
            Property::sometimes(
                "the end is reached after interruptions",
                |_, state: &State| state.position == PAGES && state.interruptions == INTERRUPTIONS,
            ),
        ]
    }
}
