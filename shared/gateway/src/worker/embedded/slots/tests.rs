use futures_util::FutureExt as _;
use postrider_testkit::builders::NOW;

use super::*;

const QUICK: Millis = MAX_WAIT;

fn webhook(n: u8) -> WebhookId {
    WebhookId::from_bytes([n; 16])
}

#[test]
fn one_webhook_cannot_take_everything() {
    let slots = Slots::<u32>::new(2, 100);
    let tenant = TenantId::default();
    assert!(slots.take(&tenant, webhook(1), None) && slots.take(&tenant, webhook(1), None));
    assert!(!slots.take(&tenant, webhook(1), None));
    assert!(slots.take(&tenant, webhook(2), None));
}

#[test]
fn a_webhook_keeps_to_its_own_maximum() {
    let slots = Slots::<u32>::new(64, 1024);
    let tenant = TenantId::default();
    assert_eq!(slots.take_many(&tenant, webhook(1), Some(3), 1), 3);
    assert!(!slots.take(&tenant, webhook(1), Some(3)));
    assert_eq!(slots.take_many(&tenant, webhook(2), Some(100), 1), 64);
}

#[test]
fn many_hanging_webhooks_leave_room_for_a_healthy_one() {
    let slots = Slots::<u32>::new(64, 1024);
    let tenant = TenantId::default();
    for hanging in 0..40 {
        while slots.take(&tenant, webhook(hanging), None) {}
    }
    assert!(slots.take(&tenant, webhook(200), None));
}

#[test]
fn a_new_row_does_not_overtake_waiting_rows() {
    let slots = Slots::<u32>::new(1, 100);
    let tenant = TenantId::default();
    assert!(slots.take(&tenant, webhook(1), None));
    assert!(!slots.take(&tenant, webhook(1), None));
    assert!(slots.finished(&key(1), 0, QUICK), "a row waits");
    assert!(
        !slots.take(&tenant, webhook(1), None),
        "the waiting row comes first"
    );
    slots.clear_backlog(&(tenant.clone(), webhook(1)));
    assert!(slots.take(&tenant, webhook(1), None));
}

#[test]
fn free_slots_are_shared() {
    let slots = Slots::<u32>::new(64, 16);
    let tenant = TenantId::default();
    assert_eq!(slots.take_many(&tenant, webhook(1), None, 16), 1);
    assert_eq!(
        slots.take_many(&tenant, webhook(1), None, 1),
        0,
        "no more than its share"
    );
    let taken: usize = (2..40)
        .map(|n| slots.take_many(&tenant, webhook(n), None, 1))
        .sum();
    assert_eq!(taken, 15, "one each, until none is left");
}

#[test]
fn webhooks_that_wait_for_a_slot_take_turns() {
    let slots = Slots::<u32>::new(1, 2);
    let tenant = TenantId::default();
    let key = |n| (tenant.clone(), webhook(n));
    for n in [1, 2] {
        assert_eq!(slots.take_many(&tenant, webhook(n), None, 1), 1);
    }
    for n in [9, 1, 2] {
        assert_eq!(slots.take_many(&tenant, webhook(n), None, 1), 0);
    }
    assert_eq!(slots.backlogs(), [key(9), key(1), key(2)]);
    slots.finished(&key(1), 0, QUICK);
    assert_eq!(slots.take_many(&tenant, webhook(9), None, 1), 1);
    slots.note_backlog(&key(9));
    assert_eq!(slots.backlogs(), [key(1), key(2), key(9)]);
}

#[test]
fn a_closed_worker_takes_no_slots() {
    let slots = Slots::<u32>::new(64, 1024);
    let tenant = TenantId::default();
    slots.close();
    assert!(!slots.take(&tenant, webhook(1), None));
    assert_eq!(slots.take_many(&tenant, webhook(1), None, 1), 0);
}

fn key(n: u8) -> Key {
    (TenantId::default(), webhook(n))
}

const fn room(slots: usize, ahead: usize) -> Room {
    Room {
        slots,
        ahead,
        bytes_ahead: 10,
    }
}

#[test]
fn slots_are_used_before_rows_are_claimed_ahead() {
    assert_eq!(room(2, 3).all(), 5);
    assert_eq!(room(2, 3).without(1), room(1, 3));
    assert_eq!(room(2, 3).without(4), room(0, 1));
    assert_eq!(room(2, 3).without(5), room(0, 0));
    let rows = [1, 2].map(|n| room(2, 3).of_row(n));
    assert_eq!(rows, [room(1, 0), room(0, 1)]);
}

/// Four attempts of a webhook with rows left in the store were in flight; this many have ended, and others begun.
fn turned_over(ended: usize, bytes: usize) -> Slots<u32> {
    let (slots, tenant) = (Slots::new(4, 100), TenantId::default());
    let look = || slots.take_many(&tenant, webhook(1), None, 1);
    assert_eq!(look(), 4);
    assert_eq!(slots.promise_ahead(&key(1), None), (0, 0), "none has ended");
    slots.note_backlog(&key(1));
    for _ in 0..ended {
        slots.finished(&key(1), bytes, QUICK);
    }
    assert_eq!(look(), ended);
    slots
}

#[test]
fn as_many_rows_are_claimed_ahead_as_have_ended_since_the_last_look() {
    let slots = turned_over(3, 10);
    assert_eq!(slots.promise_ahead(&key(1), None), (3, 10));
    assert_eq!(slots.promise_ahead(&key(1), None), (0, 0));
    assert_eq!(slots.begin(&key(1), 1, (10, 15), NOW), None);
    assert_eq!(slots.begin(&key(1), 2, (10, 15), NOW), None);
    slots.withdraw(&key(1), 10);
    assert_eq!(slots.counts.lock().bytes, 30);
    slots.finished(&key(1), 10, QUICK);
    assert_eq!(slots.next_ready(Some(&key(1)), NOW), Some(1));
    slots.note_backlog(&key(1));
    slots.finished(&key(1), 10, QUICK);
    slots.finished(&key(1), 10, QUICK);
    slots.take_many(&TenantId::default(), webhook(1), None, 1);
    let ahead = slots.promise_ahead(&key(1), None);
    assert_eq!(ahead, (2, 10), "three have ended, and one waits");
}

#[test]
fn no_more_rows_are_claimed_ahead_than_attempts_are_in_flight() {
    let slots = turned_over(4, 0);
    slots.give_back(&key(1), 3);
    assert_eq!(slots.promise_ahead(&key(1), None), (1, 0));
}

#[test]
fn attempts_that_took_long_do_not_count() {
    let (slots, tenant) = (Slots::<u32>::new(4, 100), TenantId::default());
    assert_eq!(slots.take_many(&tenant, webhook(1), None, 1), 4);
    slots.note_backlog(&key(1));
    slots.finished(&key(1), 0, QUICK.plus(Millis::new(1)));
    assert_eq!(slots.take_many(&tenant, webhook(1), None, 1), 1);
    assert_eq!(slots.promise_ahead(&key(1), None), (0, 0));
}

#[test]
fn what_ended_while_no_rows_were_left_in_the_store_says_nothing() {
    let (slots, tenant) = (Slots::<u32>::new(4, 100), TenantId::default());
    for taken in [4, 3] {
        assert_eq!(slots.take_many(&tenant, webhook(1), None, 1), taken);
        assert_eq!(slots.promise_ahead(&key(1), None), (0, 0));
        for _ in 0..3 {
            slots.finished(&key(1), 0, QUICK);
        }
    }
    // The next row cannot wait here, and is the first one in the store.
    for _ in 0..3 {
        assert!(slots.take(&tenant, webhook(1), None));
    }
    assert!(!slots.take(&tenant, webhook(1), None));
    slots.finished(&key(1), 0, QUICK);
    assert_eq!(slots.take_many(&tenant, webhook(1), None, 1), 1);
    assert_eq!(slots.promise_ahead(&key(1), None), (1, 0), "one, not four");
}

#[test]
fn a_new_row_that_is_left_in_the_store_says_nothing_about_what_ended_before() {
    let (slots, tenant) = (Slots::<u32>::new(4, 100), TenantId::default());
    assert_eq!(slots.take_many(&tenant, webhook(1), None, 1), 4);
    slots.finished(&key(1), 0, QUICK);
    assert!(slots.take(&tenant, webhook(1), None));
    assert!(slots.promise(&key(1), None, MAX_READY_BYTES, NOW));
    assert!(!slots.promise(&key(1), None, 1, NOW), "no room to wait");
    slots.finished(&key(1), 0, QUICK);
    assert_eq!(slots.take_many(&tenant, webhook(1), None, 1), 1);
    slots.withdraw(&key(1), MAX_READY_BYTES);
    assert_eq!(slots.promise_ahead(&key(1), None), (1, 0), "one, not two");
}

#[test]
fn nothing_is_claimed_ahead_for_a_webhook_with_more_than_its_share() {
    let slots = turned_over(4, 0);
    assert_eq!(slots.promise_ahead(&key(1), Some(3)), (0, 0));
    let slots = turned_over(4, 0);
    assert_eq!(slots.promise_ahead(&key(1), Some(4)), (4, 0));
}

/// It got its slots when more were free.
#[test]
fn nothing_is_claimed_ahead_for_a_webhook_whose_share_became_smaller() {
    for (others, expected) in [(4, 12), (68, 0)] {
        let (slots, tenant) = (Slots::<u32>::new(64, 100), TenantId::default());
        let look = || slots.take_many(&tenant, webhook(1), None, 1);
        assert_eq!(look(), 12, "an eighth");
        slots.note_backlog(&key(1));
        for _ in 0..12 {
            slots.finished(&key(1), 0, QUICK);
        }
        assert_eq!(look(), 12);
        for n in 0..others {
            assert!(slots.take(&tenant, webhook(n + 2), None));
        }
        assert_eq!(slots.promise_ahead(&key(1), None), (expected, 0));
    }
}

#[test]
fn rows_that_are_still_being_claimed_count_as_claimed_ahead() {
    let (slots, tenant) = (turned_over(3, 0), TenantId::default());
    assert_eq!(slots.promise_ahead(&key(1), None), (3, 0));
    slots.note_backlog(&key(1));
    for _ in 0..4 {
        slots.finished(&key(1), 0, QUICK);
    }
    assert_eq!(slots.take_many(&tenant, webhook(1), None, 1), 4);
    let ahead = slots.promise_ahead(&key(1), None);
    assert_eq!(ahead, (1, 0), "four have ended, and three are claimed");
}

#[test]
fn the_attempts_that_end_are_counted_while_rows_are_left_in_the_store() {
    let slots = turned_over(4, 0);
    slots.note_backlog(&key(1));
    for _ in 0..4 {
        slots.finished(&key(1), 0, QUICK);
    }
    let known = || slots.counts.lock().by_webhook.len();
    assert_eq!(known(), 1);
    slots.clear_backlog(&key(1));
    assert_eq!(known(), 0);
}

#[test]
fn a_webhooks_own_maximum_holds_for_rows_claimed_ahead() {
    let (slots, tenant) = (Slots::<u32>::new(64, 1024), TenantId::default());
    let look = || slots.take_many(&tenant, webhook(1), Some(4), 1);
    assert_eq!(look(), 4);
    slots.note_backlog(&key(1));
    slots.finished(&key(1), 0, QUICK);
    assert_eq!(look(), 1);
    assert_eq!(slots.promise_ahead(&key(1), Some(4)), (1, 0));
    assert_eq!(slots.begin(&key(1), 1, (0, 0), NOW), None);
}

#[test]
fn nothing_is_claimed_ahead_if_slots_are_scarce_or_the_worker_ends() {
    let tenant = TenantId::default();
    for (free, expected) in [(SHARE_OF_REST - 1, 0), (SHARE_OF_REST, 1)] {
        let slots = Slots::<u32>::new(1, 100);
        assert_eq!(slots.take_many(&tenant, webhook(1), None, 1), 1);
        slots.note_backlog(&key(1));
        slots.finished(&key(1), 0, QUICK);
        assert_eq!(slots.take_many(&tenant, webhook(1), None, 1), 1);
        for n in 0..100 - 1 - free {
            let other = webhook(u8::try_from(n).unwrap() + 2);
            assert!(slots.take(&tenant, other, None));
        }
        assert_eq!(slots.promise_ahead(&key(1), None).0, expected);
    }
    let slots = turned_over(1, 0);
    slots.close();
    assert_eq!(slots.promise_ahead(&key(1), None), (0, 0));
}

#[test]
fn bodies_of_rows_claimed_ahead_are_bounded_by_those_that_ended() {
    let slots = turned_over(4, MAX_READY_BYTES / 3);
    let each = MAX_READY_BYTES / 3;
    assert_eq!(slots.promise_ahead(&key(1), None), (3, each));
    assert_eq!(slots.counts.lock().bytes, 3 * each);
}

#[test]
fn rows_claimed_ahead_never_slow_down_publishers() {
    let slots = Slots::<u32>::new(MAX_AHEAD, 100 * MAX_AHEAD);
    let tenant = TenantId::default();
    for n in 1..=3 {
        assert_eq!(slots.take_many(&tenant, webhook(n), None, 1), MAX_AHEAD);
        slots.note_backlog(&key(n));
        for _ in 0..MAX_AHEAD {
            slots.finished(&key(n), 0, QUICK);
        }
        assert_eq!(slots.take_many(&tenant, webhook(n), None, 1), MAX_AHEAD);
    }
    let ahead = [1, 2, 3].map(|n| slots.promise_ahead(&key(n), None).0);
    assert_eq!(ahead, [CROWDED / 2, 0, 0]);
    assert!(!slots.is_crowded(NOW));
}

#[test]
fn a_promised_delivery_waits_for_a_slot_and_then_begins_in_order() {
    let slots = Slots::<u32>::new(1, 100);
    for n in 1..=3 {
        assert!(slots.promise(&key(1), None, 10, NOW), "{n}");
    }
    assert_eq!(slots.begin(&key(1), 1, (10, 10), NOW), Some(1));
    assert_eq!(slots.begin(&key(1), 2, (10, 10), NOW), None);
    assert_eq!(slots.begin(&key(1), 3, (10, 10), NOW), None);
    assert_eq!(
        slots.next_ready(Some(&key(1)), NOW),
        None,
        "no slot is free"
    );
    for n in [2, 3] {
        slots.finished(&key(1), 0, QUICK);
        assert_eq!(slots.next_ready(Some(&key(1)), NOW), Some(n));
    }
    slots.finished(&key(1), 0, QUICK);
    let counts = slots.counts.lock();
    assert!(counts.is_idle() && counts.bytes == 0);
}

#[test]
fn a_slot_that_its_webhook_does_not_need_goes_to_the_next_in_turn() {
    let slots = Slots::<u32>::new(1, 1);
    for n in 1..=3 {
        assert!(slots.promise(&key(n), None, 0, NOW));
        let begun = slots.begin(&key(n), n.into(), (0, 0), NOW);
        assert_eq!(begun.is_some(), n == 1);
    }
    for n in [2, 3] {
        slots.finished(&key(n - 1), 0, QUICK);
        assert_eq!(slots.next_ready(Some(&key(n - 1)), NOW), Some(n.into()));
    }
    slots.finished(&key(3), 0, QUICK);
    assert_eq!(slots.next_ready(Some(&key(3)), NOW), None);
}

#[test]
fn a_delivery_to_a_slow_receiver_waits_in_the_store() {
    let slots = Slots::<u32>::new(1, 100);
    for n in 1..=2 {
        assert!(slots.promise(&key(1), None, 0, NOW));
        slots.begin(&key(1), n, (0, 0), NOW);
    }
    let later = NOW.plus(STALLED_AFTER).plus(Millis::new(1));
    assert!(slots.promise(&key(2), None, 0, later), "another receiver");
    assert!(!slots.promise(&key(1), None, 0, later));
    assert_eq!(slots.backlogs(), [key(1)]);
}

#[test]
fn a_delivery_waits_here_for_a_second_at_most_while_others_begin() {
    let slots = Slots::<u32>::new(1, 100);
    for n in 1..=100 {
        assert!(slots.promise(&key(1), None, 0, NOW));
        slots.begin(&key(1), n, (0, 0), NOW);
    }
    let mut now = NOW;
    for _ in 0..9 {
        now = now.plus(STALLED_AFTER);
        slots.finished(&key(1), 0, QUICK);
        assert!(slots.next_ready(Some(&key(1)), now).is_some());
        assert!(slots.promise(&key(1), None, 0, now));
        slots.begin(&key(1), 0, (0, 0), now);
    }
    now = now.plus(STALLED_AFTER).plus(Millis::new(1));
    slots.finished(&key(1), 0, QUICK);
    slots.next_ready(Some(&key(1)), now);
    assert!(!slots.promise(&key(1), None, 0, now));
}

#[test]
fn long_bodies_wait_in_the_store() {
    let slots = Slots::<u32>::new(1, 100);
    assert!(slots.promise(&key(1), None, MAX_READY_BYTES, NOW), "a slot");
    slots.begin(&key(1), 1, (MAX_READY_BYTES, MAX_READY_BYTES), NOW);
    assert!(slots.promise(&key(1), None, MAX_READY_BYTES, NOW));
    assert!(!slots.promise(&key(1), None, 1, NOW), "it is promised");
    slots.clear_backlog(&key(1));
    slots.begin(&key(1), 2, (MAX_READY_BYTES, MAX_READY_BYTES), NOW);
    assert!(!slots.promise(&key(1), None, 1, NOW));
}

#[test]
fn eight_bodies_of_a_mebibyte_wait_for_a_slot_and_eight_to_be_written() {
    const MEBIBYTE: usize = 1_048_576;
    let slots = Slots::<u32>::new(1, 100);
    assert!(slots.promise(&key(1), None, 0, NOW));
    assert_eq!(slots.begin(&key(1), 1, (0, 0), NOW), Some(1));
    for n in 0..8 {
        assert!(slots.promise(&key(1), None, MEBIBYTE, NOW), "{n}");
        assert!(slots.may_leave_unwritten(MEBIBYTE), "{n}");
    }
    assert!(!slots.promise(&key(1), None, MEBIBYTE, NOW));
    assert!(!slots.may_leave_unwritten(MEBIBYTE));
}

#[test]
fn a_webhooks_own_maximum_holds_for_deliveries_that_waited() {
    let slots = Slots::<u32>::new(64, 100);
    for n in 1..=3 {
        assert!(slots.promise(&key(1), Some(1), 0, NOW));
        slots.begin(&key(1), n, (0, 0), NOW);
    }
    assert_eq!(slots.next_ready(Some(&key(2)), NOW), None);
}

#[test]
fn publishers_are_slowed_down_unless_only_slow_receivers_lag_behind() {
    let slots = Slots::<u32>::new(1, 100);
    for n in 0..=CROWDED + 1 {
        assert!(!slots.is_crowded(NOW), "{n}");
        assert!(slots.promise(&key(1), None, 0, NOW));
        slots.begin(&key(1), 0, (0, 0), NOW);
    }
    assert!(slots.is_crowded(NOW));
    assert!(!slots.is_crowded(NOW.plus(Millis::from_seconds(1))));
    slots.finished(&key(1), 0, QUICK);
    slots.next_ready(Some(&key(1)), NOW);
    assert!(!slots.is_crowded(NOW));
}

#[test]
fn what_waits_for_slow_receivers_is_not_counted_for_each_publisher() {
    let slots = Slots::<u32>::new(1, 100);
    for _ in 0..=CROWDED + 1 {
        assert!(slots.promise(&key(1), None, 0, NOW));
        slots.begin(&key(1), 0, (0, 0), NOW);
    }
    let slow_from = NOW.plus(STALLED_AFTER).plus(Millis::new(1));
    let counted_at = slow_from.minus(Millis::new(2));
    assert!(slots.is_crowded(counted_at));
    assert!(slots.is_crowded(slow_from));
    assert!(!slots.is_crowded(counted_at.plus(COUNTED_FOR)));
    // The clock was set back.
    assert!(slots.is_crowded(NOW));
}

#[test]
fn only_so_many_results_wait_to_be_written_without_a_slot() {
    let slots = Slots::<u32>::new(1, 100);
    for n in 0..MAX_UNWRITTEN {
        assert!(slots.may_leave_unwritten(1), "{n}");
    }
    assert!(!slots.may_leave_unwritten(1));
    slots.written(1);
    assert!(slots.may_leave_unwritten(1));
}

#[test]
fn a_long_body_keeps_its_slot_until_it_is_written() {
    let slots = Slots::<u32>::new(1, 100);
    assert!(slots.may_leave_unwritten(MAX_UNWRITTEN_BYTES - 1));
    assert!(!slots.may_leave_unwritten(2));
    slots.written(MAX_UNWRITTEN_BYTES - 1);
    assert!(slots.may_leave_unwritten(2));
    slots.written(2);
    assert!(slots.may_leave_unwritten(MAX_UNWRITTEN_BYTES));
    slots.written(MAX_UNWRITTEN_BYTES);
    let counts = slots.counts.lock();
    assert!(counts.is_idle() && counts.unwritten_bytes == 0);
}

#[test]
fn a_worker_with_unwritten_results_is_not_idle() {
    let slots = Slots::<u32>::new(1, 100);
    assert!(slots.may_leave_unwritten(0));
    assert!(!slots.counts.lock().is_idle());
    slots.written(0);
    assert!(slots.counts.lock().is_idle());
}

#[test]
fn a_webhook_without_attempts_takes_no_memory() {
    let slots = Slots::<u32>::new(2, 100);
    let tenant = TenantId::default();
    let known = || slots.counts.lock().by_webhook.len();
    for _ in 0..2 {
        assert!(slots.take(&tenant, webhook(1), None));
    }
    slots.finished(&key(1), 0, QUICK);
    assert!(slots.take(&tenant, webhook(1), None));
    assert_eq!(
        slots.take_many(&tenant, webhook(1), None, 1),
        0,
        "two are in flight"
    );
    slots.clear_backlog(&key(1));
    slots.give_back(&key(1), 2);
    assert_eq!(known(), 0);
    assert!(slots.promise(&key(1), None, 0, NOW));
    assert!(slots.promise(&key(1), None, 0, NOW));
    slots.withdraw(&key(1), 0);
    assert_eq!(known(), 1, "one is promised");
    slots.withdraw(&key(1), 0);
    assert_eq!(known(), 0);
}

/// It may have none when the turn comes.
#[test]
fn a_webhook_has_one_turn_however_often_its_deliveries_wait() {
    let slots = Slots::<u32>::new(1, 100);
    let turns = || slots.counts.lock().turns.len();
    for round in 0..3 {
        for n in 1..=2 {
            assert!(slots.promise(&key(1), None, 0, NOW));
            assert_eq!(slots.begin(&key(1), n, (0, 0), NOW).is_some(), n == 1);
        }
        assert_eq!(turns(), 1, "{round}");
        slots.finished(&key(1), 0, QUICK);
        assert_eq!(slots.next_ready(Some(&key(1)), NOW), Some(2));
        slots.finished(&key(1), 0, QUICK);
    }
    for n in 1..=2 {
        assert!(slots.promise(&key(2), None, 0, NOW));
        slots.begin(&key(2), n, (0, 0), NOW);
    }
    slots.finished(&key(2), 0, QUICK);
    assert_eq!(slots.next_ready(None, NOW), Some(2));
    slots.finished(&key(2), 0, QUICK);
    assert_eq!((turns(), slots.counts.lock().by_webhook.len()), (0, 0));
}

#[test]
fn only_so_many_deliveries_wait_here_and_the_promised_ones_count() {
    let slots = Slots::<u32>::new(1, 100);
    assert!(slots.promise(&key(1), None, 0, NOW));
    assert_eq!(slots.begin(&key(1), 0, (0, 0), NOW), Some(0));
    for n in 0..MAX_READY {
        assert!(slots.promise(&key(1), None, 0, NOW), "{n}");
        if n < MAX_READY / 2 {
            slots.begin(&key(1), 0, (0, 0), NOW);
        }
    }
    assert!(!slots.promise(&key(1), None, 0, NOW));
    assert!(slots.promise(&key(2), None, 0, NOW), "a slot is free");
}

#[test]
fn a_new_delivery_does_not_take_the_slot_that_another_waits_for() {
    let slots = Slots::<u32>::new(1, 100);
    for n in 1..=2 {
        assert!(slots.promise(&key(1), None, 0, NOW));
        slots.begin(&key(1), n, (0, 0), NOW);
    }
    slots.finished(&key(1), 0, QUICK);
    assert!(slots.promise(&key(1), None, 0, NOW));
    assert_eq!(slots.begin(&key(1), 3, (0, 0), NOW), None);
    let later = NOW.plus(STALLED_AFTER).plus(Millis::new(1));
    assert!(!slots.promise(&key(1), None, 0, later));
    slots.clear_backlog(&key(1));
    assert_eq!(slots.next_ready(None, later), Some(2));
}

#[test]
fn nothing_is_promised_behind_rows_in_the_store_or_when_the_worker_ends() {
    let slots = Slots::<u32>::new(1, 100);
    slots.note_backlog(&key(1));
    assert!(!slots.promise(&key(1), None, 0, NOW));
    assert!(slots.promise(&key(2), None, 0, NOW));
    slots.close();
    assert!(!slots.promise(&key(3), None, 0, NOW));
}

#[test]
fn a_worker_is_idle_when_nothing_is_promised_in_flight_or_unwritten() {
    let slots = Slots::<u32>::new(1, 100);
    let is_idle = || slots.counts.lock().is_idle();
    assert!(slots.promise(&key(1), None, 0, NOW));
    assert!(!is_idle());
    assert!(slots.may_leave_unwritten(0));
    assert!(!is_idle());
    slots.begin(&key(1), 1, (0, 0), NOW);
    assert!(!is_idle());
    slots.written(0);
    assert!(!is_idle());
    assert!(slots.promise(&key(1), None, 0, NOW));
    assert_eq!(slots.begin(&key(1), 2, (0, 0), NOW), None);
    slots.finished(&key(1), 0, QUICK);
    assert!(!is_idle(), "one waits");
    slots.close();
    assert!(is_idle(), "it does not begin any more");
}

#[test]
fn the_count_of_what_waits_for_slow_receivers_is_kept_for_a_moment() {
    let slots = Slots::<u32>::new(1, 100);
    for _ in 0..=CROWDED + 2 {
        assert!(slots.promise(&key(1), None, 0, NOW));
        slots.begin(&key(1), 0, (0, 0), NOW);
    }
    let slow = NOW.plus(STALLED_AFTER).plus(Millis::new(1));
    assert!(!slots.is_crowded(slow));
    slots.finished(&key(1), 0, QUICK);
    assert!(slots.next_ready(None, slow).is_some(), "it moves again");
    assert!(!slots.is_crowded(slow));
    assert!(slots.is_crowded(slow.plus(COUNTED_FOR)));
}

#[test]
fn a_delivery_that_waited_takes_a_slot_of_its_webhook_and_of_all() {
    let slots = Slots::<u32>::new(1, 1);
    for n in 1..=3 {
        for _ in 0..2 {
            assert!(slots.promise(&key(n), None, 0, NOW));
            slots.begin(&key(n), n.into(), (0, 0), NOW);
        }
    }
    for n in [1, 2, 2, 3, 3] {
        assert_eq!(slots.next_ready(None, NOW), None);
        slots.finished(&key(n), 0, QUICK);
        assert!(slots.next_ready(Some(&key(n)), NOW).is_some());
        assert!(!slots.take(&TenantId::default(), webhook(9), None));
    }
    assert_eq!(slots.counts.lock().total, 1);
}

/// Waits with so many ready and promised deliveries of one webhook, one of which is in flight.
fn crowded(ready: usize, promised: usize) -> Slots<u32> {
    let slots = Slots::new(1, 100);
    for n in 0..=ready + promised {
        assert!(slots.promise(&key(1), None, 0, NOW));
        if n <= ready {
            slots.begin(&key(1), 0, (0, 0), NOW);
        }
    }
    slots
}

#[test]
fn a_publisher_goes_on_as_soon_as_few_deliveries_wait() {
    let slots = crowded(CROWDED / 2, CROWDED / 2 + 100);
    let mut publisher = Box::pin(slots.thin(|| NOW));
    for _ in 0..100 {
        assert_eq!((&mut publisher).now_or_never(), None);
        slots.finished(&key(1), 0, QUICK);
        assert!(slots.next_ready(None, NOW).is_some());
    }
    assert_eq!(publisher.now_or_never(), Some(()));
    assert_eq!(slots.thin(|| NOW).now_or_never(), Some(()));
}

/// However the others end.
#[test]
fn a_publisher_goes_on_when_promises_are_withdrawn_or_begin_at_once() {
    let ends: [fn(&Slots<u32>); 2] = [
        |slots| slots.withdraw(&key(1), 0),
        |slots| assert!(slots.begin(&key(1), 0, (0, 0), NOW).is_some()),
    ];
    for end in ends {
        let slots = Slots::<u32>::new(100, 10_000);
        for _ in 0..=CROWDED {
            assert!(slots.promise(&key(1), None, 0, NOW));
        }
        let mut publisher = Box::pin(slots.thin(|| NOW));
        assert_eq!((&mut publisher).now_or_never(), None);
        end(&slots);
        assert_eq!(publisher.now_or_never(), Some(()));
    }
}

#[test]
fn what_waits_for_a_slow_receiver_does_not_crowd_out_the_others() {
    let slots = crowded(10, 0);
    let now = NOW.plus(STALLED_AFTER).plus(Millis::new(1));
    for _ in 0..=CROWDED {
        assert!(slots.promise(&key(2), None, 0, now));
        slots.begin(&key(2), 0, (0, 0), now);
    }
    assert!(!slots.is_crowded(now));
    assert!(slots.promise(&key(2), None, 0, now));
    assert!(slots.is_crowded(now));
}

#[test]
fn a_backlog_ends_when_it_is_cleared() {
    let slots = Slots::<u32>::new(1, 100);
    assert!(!slots.has_backlog());
    slots.note_backlog(&key(1));
    assert!(slots.has_backlog());
    slots.clear_backlog(&key(1));
    assert!(!slots.has_backlog());
}
