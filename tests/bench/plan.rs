//! The size of each part of a run.

use std::time::Duration;

/// How many publishers there are, each with its own connection.
pub(crate) const CONNECTIONS: usize = 32;

/// The amounts of one run.
pub(crate) struct Plan {
    /// Appends that are synced one by one.
    pub(crate) syncs: usize,
    /// How long the bare client posts.
    pub(crate) bare: Duration,
    /// Events that are published as fast as they are accepted.
    pub(crate) flat_out: u64,
    /// Further events on the same gateway, while its memory is watched.
    pub(crate) growth: u64,
    /// How long events are published at a steady rate.
    pub(crate) paced: Duration,
    /// How long each round with and without a hanging receiver takes.
    pub(crate) hanging: Duration,
    /// How many such pairs of rounds there are.
    pub(crate) rounds: usize,
    /// How long events are published to receivers that fail some.
    pub(crate) flow: Duration,
    /// Delivered rows in the larger of two stores.
    pub(crate) many_rows: u32,
    /// How long a call is repeated to measure it.
    pub(crate) calls: Duration,
}

impl Plan {
    /// Under six minutes.
    pub(crate) const USUAL: Self = Self {
        syncs: 500,
        bare: Duration::from_secs(5),
        flat_out: 40_000,
        growth: 160_000,
        paced: Duration::from_secs(15),
        hanging: Duration::from_secs(12),
        rounds: 3,
        flow: Duration::from_secs(60),
        many_rows: 100_000,
        calls: Duration::from_millis(700),
    };

    /// About a minute.
    pub(crate) const QUICK: Self = Self {
        syncs: 200,
        bare: Duration::from_secs(2),
        flat_out: 10_000,
        growth: 10_000,
        paced: Duration::from_secs(4),
        hanging: Duration::from_secs(8),
        rounds: 1,
        flow: Duration::from_secs(10),
        many_rows: 10_000,
        calls: Duration::from_millis(100),
    };

    /// As long as it takes.
    pub(crate) const MILLION: Self = Self {
        growth: 960_000,
        many_rows: 1_000_000,
        ..Self::USUAL
    };
}
