//! Whether receivers are unreachable one by one, or because the gateway has no network.

use std::time::{Duration, Instant};

/// So many receivers of different hosts must be unreachable. One tenant's dead name server must not stop the others.
const HOSTS: usize = 3;
/// As long as one receiver was connected within this time, the network works.
const WINDOW: Duration = Duration::from_secs(10);

/// What the sender knows about the network.
#[derive(Debug, Default)]
pub(crate) struct Network {
    connected_at: Option<Instant>,
    /// The last hosts that were unreachable, each once, oldest first.
    unreachable: Vec<(String, Instant)>,
}

impl Network {
    pub(crate) fn connected(&mut self, now: Instant) {
        self.connected_at = Some(now);
        self.unreachable.clear();
    }

    /// Whether a receiver was connected a moment ago.
    pub(crate) fn works(&self, now: Instant) -> bool {
        self.connected_at.is_some_and(|at| is_recent(at, now))
    }

    /// Notes an unreachable host; returns whether the network is down, so that its receiver is not to blame.
    pub(crate) fn is_down_for(&mut self, host: &str, now: Instant) -> bool {
        self.unreachable
            .retain(|(known, at)| known != host && is_recent(*at, now));
        if self.unreachable.len() >= HOSTS {
            self.unreachable.remove(0);
        }
        self.unreachable.push((host.to_owned(), now));
        !self.works(now) && self.unreachable.len() >= HOSTS
    }
}

fn is_recent(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialling::now;

    fn after(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn three_unreachable_hosts_mean_that_the_network_is_down() {
        let (mut network, start) = (Network::default(), now());
        assert!(!network.is_down_for("a", start));
        assert!(!network.is_down_for("b", start));
        assert!(network.is_down_for("c", start));
        assert!(network.is_down_for("a", after(start, 1)));
        assert!(network.is_down_for("d", after(start, 2)));
    }

    #[test]
    fn one_host_alone_is_to_blame_however_often_it_fails() {
        let (mut network, start) = (Network::default(), now());
        for second in 0..100 {
            assert!(!network.is_down_for("dead", after(start, second)));
        }
        assert!(!network.is_down_for("dead too", after(start, 100)));
    }

    #[test]
    fn a_receiver_that_was_connected_shows_that_the_network_works() {
        let (mut network, start) = (Network::default(), now());
        network.connected(start);
        for host in ["a", "b", "c", "d"] {
            assert!(!network.is_down_for(host, after(start, 9)));
        }
        assert!(network.is_down_for("a", after(start, 10)));
        network.connected(after(start, 11));
        assert!(!network.is_down_for("a", after(start, 12)));
    }

    #[test]
    fn hosts_that_failed_long_ago_do_not_count() {
        let (mut network, start) = (Network::default(), now());
        network.is_down_for("a", start);
        network.is_down_for("b", after(start, 5));
        assert!(!network.is_down_for("c", after(start, 11)));
        assert!(network.is_down_for("d", after(start, 12)));
    }
}
