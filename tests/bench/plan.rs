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
    /// Deliveries for each way to publish whose cost is measured.
    pub(crate) cost: u64,
    /// How many pairs of rounds compare filters with event types.
    pub(crate) filter_rounds: usize,
    /// How long events are published at a low rate.
    pub(crate) slow: Duration,
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
    /// Deliveries for each point of the picture.
    pub(crate) sweep: u64,
    /// Waiting deliveries at a start.
    pub(crate) waiting: u64,
    /// How long events are published to a thousand webhooks in each round, and how many pairs of rounds there are.
    pub(crate) crowd: Duration,
    pub(crate) crowd_rounds: usize,
    /// Delivered rows in the larger of two stores.
    pub(crate) many_rows: u32,
    /// How long a call is repeated to measure it.
    pub(crate) calls: Duration,
}

impl Plan {
    /// About fifteen minutes.
    pub(crate) const USUAL: Self = Self {
        syncs: 500,
        bare: Duration::from_secs(5),
        flat_out: 40_000,
        cost: 40_000,
        filter_rounds: 3,
        slow: Duration::from_secs(20),
        growth: 160_000,
        paced: Duration::from_secs(15),
        hanging: Duration::from_secs(8),
        rounds: 7,
        flow: Duration::from_secs(60),
        sweep: 20_000,
        waiting: 100_000,
        crowd: Duration::from_secs(10),
        crowd_rounds: 3,
        many_rows: 100_000,
        calls: Duration::from_millis(700),
    };

    /// About a minute.
    pub(crate) const QUICK: Self = Self {
        syncs: 200,
        bare: Duration::from_secs(2),
        flat_out: 10_000,
        cost: 20_000,
        filter_rounds: 1,
        slow: Duration::from_secs(8),
        growth: 10_000,
        paced: Duration::from_secs(4),
        hanging: Duration::from_secs(8),
        rounds: 1,
        flow: Duration::from_secs(10),
        sweep: 4_000,
        waiting: 20_000,
        crowd: Duration::from_secs(4),
        crowd_rounds: 1,
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
