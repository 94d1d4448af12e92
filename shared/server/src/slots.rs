//! The connections that are open, and which of them has to go when there are too many.
//!
//! A connection counts as a stranger's until one of its requests had a valid key, session or signature. Callers that are
//! known keep their connections. A stranger that has had its second makes room for the next one: with that, sockets that
//! say nothing cannot shut anyone out, however many there are.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use postrider_domain::time::{Millis, Timestamp};
use postrider_web::recognised::Recognised;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// How long a stranger may keep a connection that others wait for: enough for an honest request.
const GRACE: Millis = Millis::from_seconds(1);
/// How long to wait before looking again for a stranger whose grace is over.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

pub(super) struct Slots {
    total: usize,
    /// Strangers per address.
    per_address: usize,
    open: Mutex<Open>,
    freed: Notify,
}

#[derive(Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, Connection>,
    /// By age. Some may have been recognised since.
    strangers: BTreeSet<u64>,
    by_address: HashMap<IpAddr, BTreeSet<u64>>,
}

struct Connection {
    address: Option<IpAddr>,
    since: Timestamp,
    mark: Recognised,
    task: Option<AbortHandle>,
}

/// A place among the open connections, until it is dropped.
pub(super) struct Slot {
    slots: Arc<Slots>,
    id: u64,
    pub(super) mark: Recognised,
}

enum Admission {
    Admitted(Slot),
    /// This address has too many, all of them just opened.
    Refused,
    /// All places are taken by known callers, or by strangers that just came.
    Full,
}

impl Slots {
    pub(super) fn new(total: usize, per_address: usize) -> Arc<Self> {
        Arc::new(Self {
            total,
            per_address,
            open: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// Waits for a place. `None` if the address has too many connections; the new one should be closed.
    pub(super) async fn admit(
        self: &Arc<Self>,
        peer: IpAddr,
        now: impl Fn() -> Timestamp,
    ) -> Option<Slot> {
        loop {
            let freed = self.freed.notified();
            match self.try_admit(peer, now()) {
                Admission::Admitted(slot) => return Some(slot),
                Admission::Refused => return None,
                // Whether one was freed or not, the next look tells.
                Admission::Full => drop(tokio::time::timeout(LOOK_AGAIN, freed).await),
            }
        }
    }

    fn try_admit(self: &Arc<Self>, peer: IpAddr, now: Timestamp) -> Admission {
        let mut open = self.open.lock();
        let address = group(peer);
        if let Some(address) = address
            && !open.make_room_at(address, self.per_address, now)
        {
            return Admission::Refused;
        }
        if open.connections.len() >= self.total && !open.evict_one(now) {
            return Admission::Full;
        }
        let id = open.next;
        open.next += 1;
        let mark = Recognised::default();
        open.strangers.insert(id);
        if let Some(address) = address {
            open.by_address.entry(address).or_default().insert(id);
        }
        open.connections.insert(
            id,
            Connection {
                address,
                since: now,
                mark: mark.clone(),
                task: None,
            },
        );
        Admission::Admitted(Slot {
            slots: Arc::clone(self),
            id,
            mark,
        })
    }
}

impl Slot {
    /// Names the task that serves the connection, so that it can be ended.
    pub(super) fn served_by(slots: &Slots, id: u64, task: AbortHandle) {
        if let Some(connection) = slots.open.lock().connections.get_mut(&id) {
            connection.task = Some(task);
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.open.lock().remove(self.id);
        self.slots.freed.notify_one();
    }
}

impl Open {
    fn remove(&mut self, id: u64) {
        let Some(connection) = self.connections.remove(&id) else {
            return;
        };
        self.forget_stranger(id, connection.address);
    }

    fn forget_stranger(&mut self, id: u64, address: Option<IpAddr>) {
        self.strangers.remove(&id);
        if let Some(address) = address
            && let Some(of_address) = self.by_address.get_mut(&address)
        {
            of_address.remove(&id);
            if of_address.is_empty() {
                self.by_address.remove(&address);
            }
        }
    }

    fn strangers_of(&self, address: IpAddr) -> usize {
        self.by_address.get(&address).map_or(0, BTreeSet::len)
    }

    /// Ends the oldest stranger's connection, if its grace is over.
    fn evict_one(&mut self, now: Timestamp) -> bool {
        while let Some(id) = self.strangers.first().copied() {
            match self.evict(id, now) {
                Evicted::Done => return true,
                Evicted::TooYoung => return false,
                Evicted::Known => {}
            }
        }
        false
    }

    /// Ends connections of this address until it has fewer than `most`; false if they are all too young.
    fn make_room_at(&mut self, address: IpAddr, most: usize, now: Timestamp) -> bool {
        while self.strangers_of(address) >= most {
            let oldest = self
                .by_address
                .get(&address)
                .and_then(BTreeSet::first)
                .copied();
            let Some(id) = oldest else {
                return true;
            };
            match self.evict(id, now) {
                Evicted::Done | Evicted::Known => {}
                Evicted::TooYoung => {
                    self.forget_known_of(address);
                    return self.strangers_of(address) < most;
                }
            }
        }
        true
    }

    /// Leaves out the connections of this address that were recognised since they were opened.
    fn forget_known_of(&mut self, address: IpAddr) {
        let ids = self.by_address.get(&address).into_iter().flatten();
        let is_known = |id: &&u64| {
            let connection = self.connections.get(id);
            connection.is_none_or(|connection| connection.mark.is_marked())
        };
        let known: Vec<u64> = ids.filter(is_known).copied().collect();
        for id in known {
            self.forget_stranger(id, Some(address));
        }
    }

    fn evict(&mut self, id: u64, now: Timestamp) -> Evicted {
        let Some(connection) = self.connections.get(&id) else {
            self.strangers.remove(&id);
            return Evicted::Known;
        };
        let address = connection.address;
        if connection.mark.is_marked() {
            self.forget_stranger(id, address);
            return Evicted::Known;
        }
        // A clock that was set back must not keep strangers for longer.
        if connection.since <= now && now.since(connection.since) < GRACE {
            return Evicted::TooYoung;
        }
        if let Some(task) = &connection.task {
            task.abort();
        }
        self.remove(id);
        Evicted::Done
    }
}

enum Evicted {
    Done,
    /// It was recognised, so it is not a stranger's any more.
    Known,
    TooYoung,
}

/// What counts as one address: an IPv6 network is as cheap as an IPv4 address. None for this machine, where a proxy brings
/// the requests of everyone.
fn group(peer: IpAddr) -> Option<IpAddr> {
    match peer.to_canonical() {
        ip if ip.is_loopback() => None,
        IpAddr::V4(ip) => Some(ip.into()),
        IpAddr::V6(ip) => {
            let network = u128::from(ip) >> 64 << 64;
            Some(Ipv6Addr::from(network).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

    fn after(ms: u64) -> Timestamp {
        NOW.plus(Millis::new(ms))
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn recognise(slot: &Slot) {
        let mut extensions = http::Extensions::new();
        extensions.insert(slot.mark.clone());
        Recognised::mark(&extensions);
    }

    fn admitted(slots: &Arc<Slots>, peer: &str, now: Timestamp) -> Slot {
        match slots.try_admit(ip(peer), now) {
            Admission::Admitted(slot) => slot,
            Admission::Refused | Admission::Full => panic!("not admitted"),
        }
    }

    fn is_open(slot: &Slot) -> bool {
        slot.slots.open.lock().connections.contains_key(&slot.id)
    }

    #[test]
    fn the_oldest_stranger_makes_room_and_known_callers_stay() {
        let slots = Slots::new(3, 100);
        let known = admitted(&slots, "192.0.2.1", NOW);
        let older = admitted(&slots, "192.0.2.2", NOW);
        let newer = admitted(&slots, "192.0.2.3", NOW);
        recognise(&known);
        let refused = slots.try_admit(ip("192.0.2.4"), after(999));
        assert!(matches!(refused, Admission::Full), "all are too young");
        let next = admitted(&slots, "192.0.2.4", after(1_000));
        assert!(is_open(&known) && !is_open(&older) && is_open(&newer) && is_open(&next));
        recognise(&newer);
        recognise(&next);
        let refused = slots.try_admit(ip("192.0.2.5"), after(60_000));
        assert!(
            matches!(refused, Admission::Full),
            "only known ones are left"
        );
        drop(next);
        admitted(&slots, "192.0.2.5", after(60_000));
    }

    #[test]
    fn one_address_cannot_take_all_places() {
        let slots = Slots::new(100, 2);
        let first = admitted(&slots, "2001:db8::1", NOW);
        let second = admitted(&slots, "2001:db8::2", NOW);
        let third = slots.try_admit(ip("2001:db8::3"), after(10));
        assert!(
            matches!(third, Admission::Refused),
            "one network is one address"
        );
        let other = admitted(&slots, "2001:db8:0:1::1", after(10));
        let third = admitted(&slots, "2001:db8::3", after(2_000));
        assert!(!is_open(&first) && is_open(&second) && is_open(&third) && is_open(&other));
        recognise(&second);
        recognise(&third);
        let _more = admitted(&slots, "2001:db8::4", after(2_000));
        let _and_more = admitted(&slots, "2001:db8::5", after(2_000));
        assert!(
            is_open(&second) && is_open(&third),
            "known callers do not count"
        );
    }

    #[test]
    fn a_young_stranger_does_not_count_known_callers_against_its_address() {
        let slots = Slots::new(100, 2);
        let stranger = admitted(&slots, "192.0.2.1", NOW);
        let known = admitted(&slots, "192.0.2.1", NOW);
        recognise(&known);
        let next = admitted(&slots, "192.0.2.1", after(1));
        assert!(is_open(&stranger) && is_open(&known) && is_open(&next));
    }

    #[test]
    fn a_proxy_on_this_machine_is_not_limited() {
        let slots = Slots::new(100, 1);
        let held: Vec<Slot> = (0..50)
            .map(|_| admitted(&slots, "127.0.0.1", NOW))
            .collect();
        assert!(held.iter().all(is_open));
        drop(held);
        assert!(slots.open.lock().by_address.is_empty() && slots.open.lock().strangers.is_empty());
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_no_stranger() {
        let slots = Slots::new(1, 1);
        let stranger = admitted(&slots, "192.0.2.1", after(86_400_000));
        let next = admitted(&slots, "192.0.2.2", NOW);
        assert!(!is_open(&stranger) && is_open(&next));
    }
}
