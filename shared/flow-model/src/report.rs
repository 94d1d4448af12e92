//! What happened in one run.

use std::collections::VecDeque;

use postrider_domain::flow::{AttemptKind, Change};

use crate::policy::Said;

#[derive(Default)]
pub struct Report {
    pub accepted: u64,
    pub delivered: u64,
    pub dead: u64,
    pub open: u64,
    pub in_flight: u64,
    pub entered: u64,
    pub first_dead_s: Option<u64>,
    pub most_retries_in_a_second: usize,
    delivered_in: Vec<u64>,
    failed_in: Vec<u64>,
    /// The longest wait of a first attempt, by the second in which it was accepted.
    first_wait_in: Vec<u64>,
    late_in: Vec<u64>,
    accepted_in: Vec<u64>,
    retry_wait_in: Vec<u64>,
    retries: VecDeque<u64>,
}

impl Report {
    pub(crate) fn accept(&mut self, now_ms: u64) {
        self.accepted += 1;
        bump(&mut self.accepted_in, now_ms, 1);
    }

    pub(crate) fn begin(&mut self, kind: AttemptKind, due_ms: u64, now_ms: u64) {
        let wait = now_ms - due_ms;
        match kind {
            AttemptKind::First => {
                raise(&mut self.first_wait_in, due_ms, wait);
                bump(&mut self.late_in, due_ms, u64::from(wait > 2000));
            }
            AttemptKind::Retry => {
                raise(&mut self.retry_wait_in, due_ms, wait);
                self.retries.push_back(now_ms);
                while self.retries.front().is_some_and(|ms| ms + 1000 <= now_ms) {
                    self.retries.pop_front();
                }
                self.most_retries_in_a_second =
                    self.most_retries_in_a_second.max(self.retries.len());
            }
        }
    }

    pub(crate) fn end(&mut self, said: Said, now_ms: u64) {
        match said {
            Said::Ok => bump(&mut self.delivered_in, now_ms, 1),
            Said::TooMany | Said::Unavailable | Said::Timeout | Said::Refused => {
                bump(&mut self.failed_in, now_ms, 1);
            }
        }
    }

    pub(crate) fn change(&mut self, change: Option<Change>) {
        if let Some(Change::Entered(_)) = change {
            self.entered += 1;
        }
    }

    /// An attempt that was due and never began has waited until the end.
    pub(crate) fn never_began(&mut self, kind: AttemptKind, due_ms: u64, end_ms: u64) {
        let wait = end_ms.saturating_sub(due_ms);
        match kind {
            AttemptKind::First => {
                raise(&mut self.first_wait_in, due_ms, wait);
                bump(&mut self.late_in, due_ms, u64::from(wait > 2000));
            }
            AttemptKind::Retry => raise(&mut self.retry_wait_in, due_ms.min(end_ms), wait),
        }
    }

    pub fn delivered_per_second(&self, from_s: u64, until_s: u64) -> f64 {
        ratio(sum(&self.delivered_in, from_s, until_s), until_s - from_s)
    }

    /// The share of answers that were failures.
    pub fn failed_share(&self, from_s: u64, until_s: u64) -> f64 {
        let failed = sum(&self.failed_in, from_s, until_s);
        ratio(failed, failed + sum(&self.delivered_in, from_s, until_s))
    }

    pub fn attempts(&self, from_s: u64, until_s: u64) -> u64 {
        sum(&self.failed_in, from_s, until_s) + sum(&self.delivered_in, from_s, until_s)
    }

    /// The longest wait of a first attempt accepted in these seconds, in milliseconds.
    pub fn first_wait_ms(&self, from_s: u64, until_s: u64) -> u64 {
        most(&self.first_wait_in, from_s, until_s)
    }

    pub fn retry_wait_ms(&self, from_s: u64, until_s: u64) -> u64 {
        most(&self.retry_wait_in, from_s, until_s)
    }

    /// The share of events whose first attempt began more than two seconds late.
    pub fn late_share(&self, from_s: u64, until_s: u64) -> f64 {
        let accepted = sum(&self.accepted_in, from_s, until_s);
        ratio(sum(&self.late_in, from_s, until_s), accepted)
    }
}

fn at(values: &mut Vec<u64>, ms: u64) -> &mut u64 {
    let second = usize::try_from(ms / 1000).unwrap();
    if values.len() <= second {
        values.resize(second + 1, 0);
    }
    &mut values[second]
}

fn bump(values: &mut Vec<u64>, ms: u64, by: u64) {
    *at(values, ms) += by;
}

fn raise(values: &mut Vec<u64>, ms: u64, to: u64) {
    let value = at(values, ms);
    *value = (*value).max(to);
}

fn within(values: &[u64], from_s: u64, until_s: u64) -> impl Iterator<Item = u64> {
    let skipped = usize::try_from(from_s).unwrap();
    let taken = usize::try_from(until_s - from_s).unwrap();
    values.iter().skip(skipped).take(taken).copied()
}

fn sum(values: &[u64], from_s: u64, until_s: u64) -> u64 {
    within(values, from_s, until_s).sum()
}

fn most(values: &[u64], from_s: u64, until_s: u64) -> u64 {
    within(values, from_s, until_s).max().unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "counts of a simulation")]
fn ratio(part: u64, of: u64) -> f64 {
    if of == 0 {
        0.0
    } else {
        part as f64 / of as f64
    }
}
