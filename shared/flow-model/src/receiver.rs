//! Models of receivers.

use crate::policy::Said;
use crate::random::Random;

const TIMEOUT_MS: u64 = 10_000;
const REFUSED_MS: u64 = 5;

#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    pub latency_ms: u64,
    /// 503 at random, whatever the load.
    pub flaky_per_mille: u64,
    pub capacity: Option<Capacity>,
    pub outage: Option<Outage>,
    /// It works on one request at a time, so many per second; the others wait in line.
    pub line_per_second: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    pub per_second: u64,
    pub over: Said,
    /// How much of it may come at once.
    pub burst_ms: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Outage {
    pub from_ms: u64,
    pub until_ms: u64,
    pub by: Said,
}

impl Receiver {
    pub const WELL: Self = Self {
        latency_ms: 80,
        flaky_per_mille: 0,
        capacity: None,
        outage: None,
        line_per_second: None,
    };

    pub const fn flaky(per_mille: u64) -> Self {
        Self {
            flaky_per_mille: per_mille,
            ..Self::WELL
        }
    }

    pub const fn capacity(per_second: u64, over: Said, latency_ms: u64) -> Self {
        Self {
            latency_ms,
            capacity: Some(Capacity {
                per_second,
                over,
                burst_ms: 1000,
            }),
            ..Self::WELL
        }
    }

    pub const fn down(by: Said, from_s: u64, until_s: u64) -> Self {
        Self {
            outage: Some(Outage {
                from_ms: from_s * 1000,
                until_ms: until_s * 1000,
                by,
            }),
            ..Self::WELL
        }
    }
}

/// A receiver at work.
pub(crate) struct Serving {
    receiver: Receiver,
    tokens_micro: u64,
    filled_ms: u64,
    line_free_ms: u64,
}

impl Serving {
    pub(crate) const fn new(receiver: Receiver) -> Self {
        Self {
            receiver,
            tokens_micro: u64::MAX,
            filled_ms: 0,
            line_free_ms: 0,
        }
    }

    /// After how long it answers, and what.
    pub(crate) fn answer(&mut self, now_ms: u64, random: &mut Random) -> (u64, Said) {
        let receiver = self.receiver;
        if let Some(outage) = receiver.outage
            && (outage.from_ms..outage.until_ms).contains(&now_ms)
        {
            return match outage.by {
                Said::Timeout => (TIMEOUT_MS, Said::Timeout),
                Said::Refused => (REFUSED_MS, Said::Refused),
                Said::Ok | Said::TooMany | Said::Unavailable => (receiver.latency_ms, outage.by),
            };
        }
        if random.below(1000) < receiver.flaky_per_mille {
            return (receiver.latency_ms, Said::Unavailable);
        }
        if let Some(capacity) = receiver.capacity
            && !self.has_room(capacity, now_ms)
        {
            return (receiver.latency_ms, capacity.over);
        }
        match receiver.line_per_second {
            Some(per_second) => self.stand_in_line(per_second, now_ms),
            None => (receiver.latency_ms, Said::Ok),
        }
    }

    fn has_room(&mut self, capacity: Capacity, now_ms: u64) -> bool {
        const ONE: u64 = 1_000_000;
        let gained = (now_ms - self.filled_ms) * capacity.per_second * 1000;
        let most = (capacity.per_second * capacity.burst_ms * 1000).max(ONE);
        self.tokens_micro = self.tokens_micro.saturating_add(gained).min(most);
        self.filled_ms = now_ms;
        let has_room = self.tokens_micro >= ONE;
        if has_room {
            self.tokens_micro -= ONE;
        }
        has_room
    }

    /// Work on a request goes on after its sender has given up.
    fn stand_in_line(&mut self, per_second: u64, now_ms: u64) -> (u64, Said) {
        self.line_free_ms = self.line_free_ms.max(now_ms) + 1000 / per_second;
        let waits = self.line_free_ms - now_ms;
        if waits > TIMEOUT_MS {
            (TIMEOUT_MS, Said::Timeout)
        } else {
            (waits, Said::Ok)
        }
    }
}
