//! Everything that the seed decides. Each place draws from a sequence of its own, so that leaving out one fault changes as
//! little of the rest as possible.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use parking_lot::Mutex;
use postrider_ports::clock::Entropy;

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The table rejects a request for now, or a transaction conflicts.
    Throttled,
    /// A request reaches no service.
    Unreachable,
    /// A request has its effect, and the answer is lost.
    AnswerLost,
    /// A request has its effect seconds after its caller gave up.
    LateEffect,
    /// A process dies before a request is sent.
    KilledBefore,
    /// A process dies after a request was sent.
    KilledAfter,
    /// An idle process is ended.
    Reclaimed,
    /// A process stands still for a while.
    Frozen,
    /// A call takes seconds.
    Slow,
    /// An index shows a change late.
    IndexLag,
    /// An eventually consistent read shows an item as it was.
    StaleRead,
    /// A page ends early, or keys are left unprocessed.
    ShortPage,
    MessageLost,
    MessageDoubled,
    MessageLate,
    /// A batch of the stream is delivered again although it was done.
    BatchRepeated,
    /// The poller is not invoked.
    TickMissed,
    /// The clock of a process jumps.
    ClockJump,
}

impl Fault {
    pub const ALL: [Self; 18] = [
        Self::Throttled,
        Self::Unreachable,
        Self::AnswerLost,
        Self::LateEffect,
        Self::KilledBefore,
        Self::KilledAfter,
        Self::Reclaimed,
        Self::Frozen,
        Self::Slow,
        Self::IndexLag,
        Self::StaleRead,
        Self::ShortPage,
        Self::MessageLost,
        Self::MessageDoubled,
        Self::MessageLate,
        Self::BatchRepeated,
        Self::TickMissed,
        Self::ClockJump,
    ];

    /// How often it happens, of a thousand times that it could.
    const fn per_mille(self) -> u64 {
        match self {
            Self::Throttled | Self::Unreachable | Self::AnswerLost => 10,
            Self::LateEffect => 15,
            Self::Frozen | Self::Slow => 6,
            Self::KilledBefore | Self::KilledAfter | Self::ClockJump => 4,
            Self::IndexLag | Self::StaleRead | Self::ShortPage => 150,
            Self::MessageLost | Self::MessageDoubled | Self::MessageLate => 80,
            Self::Reclaimed | Self::BatchRepeated | Self::TickMissed => 100,
        }
    }
}

/// One fault: the n-th time that it could have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Strike {
    pub fault: Fault,
    pub number: u64,
}

impl fmt::Display for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.fault, self.number)
    }
}

/// Which of the faults that the seed decides happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strikes {
    All,
    /// All, and one of them ten times as often.
    Often(Fault),
    Only(BTreeSet<Strike>),
}

pub(super) struct Draws {
    seed: u64,
    strikes: Strikes,
    /// How many times as often as usual faults happen.
    times: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    drawn: BTreeMap<&'static str, u64>,
    could_strike: BTreeMap<Fault, u64>,
    struck: Vec<Strike>,
    is_unrest: bool,
}

impl Draws {
    pub(super) fn new(seed: u64, strikes: Strikes, times: u64) -> Self {
        Self {
            seed,
            strikes,
            times,
            state: Mutex::default(),
        }
    }

    /// A number below `count`.
    pub(super) fn below(&self, place: &'static str, count: u64) -> u64 {
        let mut state = self.state.lock();
        let drawn = state.drawn.entry(place).or_default();
        *drawn += 1;
        mixed(self.seed, place, *drawn) % count.max(1)
    }

    pub(super) fn index(&self, place: &'static str, count: usize) -> usize {
        usize::try_from(self.below(place, count as u64)).unwrap()
    }

    /// From `least` to `most`, both included.
    pub(super) fn between(&self, place: &'static str, least: i64, most: i64) -> i64 {
        let count = u64::try_from(most - least).unwrap() + 1;
        least + i64::try_from(self.below(place, count)).unwrap()
    }

    pub(super) fn strikes(&self, fault: Fault) -> bool {
        let mut state = self.state.lock();
        if !state.is_unrest {
            return false;
        }
        let could = state.could_strike.entry(fault).or_default();
        *could += 1;
        let strike = Strike {
            fault,
            number: *could,
        };
        let name = format!("{fault:?}");
        let strikes = match &self.strikes {
            Strikes::Often(often) if *often == fault => {
                self.decides(&name, strike) < fault.per_mille() * self.times * 10
            }
            Strikes::All | Strikes::Often(_) => {
                self.decides(&name, strike) < fault.per_mille() * self.times
            }
            Strikes::Only(only) => only.contains(&strike),
        };
        if strikes {
            state.struck.push(strike);
        }
        strikes
    }

    /// A number below a thousand.
    fn decides(&self, name: &str, strike: Strike) -> u64 {
        mixed(self.seed, name, strike.number) % 1000
    }

    /// From now on things go wrong.
    pub(super) fn begin_unrest(&self) {
        self.state.lock().is_unrest = true;
    }

    /// From now on nothing goes wrong.
    pub(super) fn end_unrest(&self) {
        self.state.lock().is_unrest = false;
    }

    pub(super) fn struck(&self) -> Vec<Strike> {
        self.state.lock().struck.clone()
    }

    /// What processes draw.
    pub(super) fn entropy(&self, process: u64) -> ProcessEntropy {
        ProcessEntropy {
            seed: mixed(self.seed, "entropy", process),
            drawn: Mutex::new(0),
        }
    }
}

pub(super) struct ProcessEntropy {
    seed: u64,
    drawn: Mutex<u64>,
}

impl Entropy for ProcessEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let mut drawn = self.drawn.lock();
            *drawn += 1;
            let more = mixed(self.seed, "bytes", *drawn).to_le_bytes();
            chunk.copy_from_slice(&more[..chunk.len()]);
        }
    }
}

/// FNV-1a over everything, then the finaliser of SplitMix64.
fn mixed(seed: u64, place: &str, number: u64) -> u64 {
    let bytes = seed.to_le_bytes().into_iter();
    let bytes = bytes.chain(place.bytes()).chain(number.to_le_bytes());
    let mut z = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
