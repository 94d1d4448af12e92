use postrider_domain::flow::{Observed, Ramp};
use postrider_domain::ids::{DeliveryId, EventId, TenantId};
use postrider_testkit::builders::{NOW, after, webhook};

use super::*;

/// A webhook that was stopped and became active again at this time.
fn resumed(stopped: WebhookStatus, at: Timestamp) -> Webhook {
    let mut webhook = webhook(&TenantId::default(), 1);
    let health = webhook.health.set(stopped, NOW);
    webhook.health = health.set(WebhookStatus::Active, at);
    webhook
}

#[test]
fn a_webhook_that_was_just_resumed_starts_slowly_however_long_it_was_stopped() {
    for stopped in [WebhookStatus::Paused, WebhookStatus::Failed] {
        let webhook = resumed(stopped, after(86_400));
        let flows = Flows::default();
        assert!(!flows.may_begin(&webhook, after(86_401)), "{stopped:?}");
    }
}

/// The cache may still say that it is on probation.
#[test]
fn a_webhook_that_was_resumed_long_ago_is_not_limited_after_a_lull() {
    let webhook = resumed(WebhookStatus::Failed, after(1));
    assert!(webhook.health.on_probation);
    assert!(Flows::default().may_begin(&webhook, after(600)));
}

fn slots(slots: usize) -> Room {
    room(slots, 0)
}

fn room(slots: usize, ahead: usize) -> Room {
    Room {
        slots,
        ahead,
        bytes_ahead: 0,
    }
}

fn capped() -> Webhook {
    let mut webhook = webhook(&TenantId::default(), 1);
    webhook.settings.max_rate = Some(5);
    webhook
}

fn found(webhook: &Webhook, kind: AttemptKind, due_at: Timestamp) -> DueRows {
    let row = DueRow {
        tenant: webhook.tenant.clone(),
        id: DeliveryId {
            event: EventId::from_bytes([1; 16]),
            webhook: webhook.id,
        },
        next_retry_at: due_at,
        is_retry: kind == AttemptKind::Retry,
    };
    DueRows {
        rows: vec![row],
        next_at: None,
    }
}

#[test]
fn under_a_maximum_the_oldest_row_goes_first_whatever_its_kind() {
    let webhook = capped();
    for (retry, first) in [(1, 2), (2, 1)] {
        let (flows, now) = (Flows::default(), after(10));
        let asks = flows.asks(&webhook, slots(8), now).unwrap();
        let rows = asks.iter().map(|ask| match ask.kind {
            AttemptKind::Retry => found(&webhook, ask.kind, after(retry)),
            AttemptKind::First => found(&webhook, ask.kind, after(first)),
        });
        let granted = flows.grant(&webhook, &asks, rows.collect(), slots(8), now);
        let begun: Vec<_> = granted.rows.iter().map(|row| row.is_retry).collect();
        assert_eq!(begun, [retry < first], "there is credit for one");
    }
}

/// It begins when it is stored, and its credit would be of a time before that.
#[test]
fn a_new_row_does_not_begin_at_once_under_a_maximum_rate() {
    assert!(!Flows::default().may_begin(&capped(), NOW));
}

#[test]
fn new_rows_of_a_limited_or_capped_webhook_are_not_free() {
    let is_free = |webhook| Flows::default().is_free(&webhook, after(1));
    assert!(is_free(webhook(&TenantId::default(), 1)));
    assert!(!is_free(capped()));
    assert!(!is_free(resumed(WebhookStatus::Paused, NOW)));
}

/// When it was resumed and nothing has waited, a webhook is not limited any more.
const OPENED: u64 = 120;

/// A flow that was limited and is not any more.
fn opened() -> (Flows, Webhook) {
    let (flows, webhook) = (Flows::default(), resumed(WebhookStatus::Paused, NOW));
    for second in 0..OPENED {
        flows.step(&webhook, after(second));
    }
    assert!(!flows.status(&webhook).limited);
    (flows, webhook)
}

fn key(webhook: &Webhook) -> Key {
    (webhook.tenant.clone(), webhook.id)
}

fn nothing(asks: &[Ask]) -> Vec<DueRows> {
    vec![DueRows::default(); asks.len()]
}

#[test]
fn first_attempts_from_before_and_after_the_end_of_a_limit_are_read_apart() {
    let (flows, webhook) = opened();
    let asks = flows.asks(&webhook, slots(8), after(OPENED)).unwrap();
    let [retries, old, new] = &asks[..] else {
        panic!("{asks:?}");
    };
    let all = Ask::all(AttemptKind::First, 8);
    assert_eq!(
        (retries.kind, retries.until),
        (AttemptKind::Retry, all.until)
    );
    assert_eq!((old.kind, old.from), (AttemptKind::First, all.from));
    assert!(old.limit < 8, "they need credit");
    assert_eq!((old.until, new.until), (new.from, all.until));
    assert!((after(1)..after(OPENED)).contains(&new.from));
    assert_eq!((new.kind, new.limit), (AttemptKind::First, 8));
}

#[test]
fn a_webhook_that_was_never_limited_or_still_is_has_its_first_attempts_read_at_once() {
    let tenant = TenantId::default();
    for webhook in [webhook(&tenant, 1), resumed(WebhookStatus::Paused, NOW)] {
        let asks = Flows::default().asks(&webhook, slots(8), after(1)).unwrap();
        let kinds: Vec<_> = asks.iter().map(|ask| ask.kind).collect();
        assert_eq!(kinds, [AttemptKind::Retry, AttemptKind::First]);
        assert_eq!(asks[1].until, Ask::all(AttemptKind::First, 8).until);
    }
}

/// Whether a limit changes by a higher rate first. Each look finds as many rows of one kind as there is credit for, and all
/// are delivered. The next one is due at `next_at`.
fn rises(kind: AttemptKind, every: Millis, room: usize, next_at: Option<Timestamp>) -> bool {
    let (flows, mut webhook) = (Flows::default(), resumed(WebhookStatus::Paused, NOW));
    webhook.settings.retry.retry_ramp = Some(Ramp::On);
    let mut now = NOW;
    while now < after(60) {
        now = now.plus(every);
        flows.forget_rows(&key(&webhook));
        let asks = flows.asks(&webhook, slots(room), now).unwrap();
        let rows = |ask: &Ask| match ask.limit {
            _ if ask.kind != kind => DueRows::default(),
            0 => DueRows {
                rows: vec![],
                next_at,
            },
            limit => DueRows {
                rows: vec![found(&webhook, kind, now).rows.remove(0); limit],
                next_at,
            },
        };
        let granted = flows.grant(
            &webhook,
            &asks,
            asks.iter().map(rows).collect(),
            slots(room),
            now,
        );
        if let Some(change) = granted.change {
            return matches!(change, Change::Raised(_));
        }
        for _ in granted.rows {
            flows.observe(&key(&webhook), delivered(now), now);
        }
    }
    false
}

fn delivered(at: Timestamp) -> Observation {
    Observation {
        began_at: at,
        ended_at: at,
        observed: Observed::Delivered,
    }
}

#[test]
fn a_limited_webhook_gets_faster_only_while_rows_wait_for_credit_alone() {
    let (often, second) = (Millis::new(100), Millis::from_seconds(1));
    for kind in [AttemptKind::First, AttemptKind::Retry] {
        let (due, later) = (Some(NOW), Some(after(3600)));
        assert!(rises(kind, often, 8, due), "{kind:?}");
        assert!(rises(kind, second, 8, due), "{kind:?}");
        assert!(!rises(kind, often, 8, None), "{kind:?}: no row");
        assert!(!rises(kind, often, 8, later), "{kind:?}: not due");
        assert!(!rises(kind, second, 1, due), "{kind:?}: no slot");
    }
}

#[test]
fn no_more_rows_begin_than_slots_were_taken() {
    let (flows, webhook) = (Flows::default(), webhook(&TenantId::default(), 1));
    let now = after(10);
    let asks = flows.asks(&webhook, slots(2), now).unwrap();
    let rows = asks.iter().map(|ask| DueRows {
        rows: vec![found(&webhook, ask.kind, NOW).rows.remove(0); ask.limit],
        next_at: None,
    });
    let granted = flows.grant(&webhook, &asks, rows.collect(), slots(2), now);
    let kinds: Vec<_> = granted.rows.iter().map(|row| row.is_retry).collect();
    assert_eq!(kinds, [true, false]);
    assert!(granted.lacks_slots);
    assert_eq!(granted.next_at, None, "a returned slot wakes the loop");
    assert!(flows.is_row_due(&webhook, now));
}

/// How many rows of a kind are claimed with two slots and room for three ahead.
fn claimed(flows: &Flows, webhook: &Webhook, kind: AttemptKind, now: Timestamp) -> usize {
    let room = room(2, 3);
    let asks = flows.asks(webhook, room, now).unwrap();
    let rows = asks.iter().map(|ask| DueRows {
        rows: vec![
            found(webhook, kind, NOW).rows.remove(0);
            if ask.kind == kind { ask.limit } else { 0 }
        ],
        next_at: None,
    });
    let granted = flows.grant(webhook, &asks, rows.collect(), room, now);
    assert!(granted.rows.len() <= room.all());
    granted.rows.len()
}

#[test]
fn rows_are_claimed_ahead_of_slots_only_if_they_need_no_credit() {
    use AttemptKind::{First, Retry};
    let tenant = TenantId::default();
    let mut fast = webhook(&tenant, 1);
    fast.settings.retry_rate = 10_000;
    let mut capped = webhook(&tenant, 1);
    capped.settings.max_rate = Some(10_000);
    for (webhook, kind, expected) in [(&fast, First, 5), (&fast, Retry, 2), (&capped, First, 2)] {
        let flows = Flows::default();
        flows.may_begin(webhook, NOW);
        assert_eq!(
            claimed(&flows, webhook, kind, after(10)),
            expected,
            "{kind:?}"
        );
    }
}

/// It has credit. Otherwise a long backlog of first attempts would keep all slots.
#[test]
fn nothing_is_claimed_ahead_while_a_retry_waits_for_a_slot() {
    let (flows, webhook) = (Flows::default(), webhook(&TenantId::default(), 1));
    let room = room(0, 3);
    let look = |retry_at| {
        flows.forget_rows(&key(&webhook));
        let asks = flows.asks(&webhook, room, after(10)).unwrap();
        let rows = asks.iter().map(|ask| DueRows {
            rows: vec![found(&webhook, ask.kind, NOW).rows.remove(0); ask.limit],
            next_at: (ask.kind == AttemptKind::Retry).then_some(retry_at),
        });
        let granted = flows.grant(&webhook, &asks, rows.collect(), room, after(10));
        granted.rows.len()
    };
    assert_eq!(look(after(10)), 0);
    assert_eq!(look(after(11)), 3, "it is not due");
}

#[test]
fn the_limit_of_a_webhook_does_not_end_while_rows_wait() {
    for kind in [AttemptKind::First, AttemptKind::Retry] {
        let (flows, webhook) = (Flows::default(), resumed(WebhookStatus::Paused, NOW));
        for second in 0..2 * OPENED {
            flows.forget_rows(&key(&webhook));
            let asks = flows.asks(&webhook, slots(8), after(second)).unwrap();
            let rows = asks.iter().map(|ask| DueRows {
                rows: vec![],
                next_at: (ask.kind == kind).then_some(NOW),
            });
            flows.grant(&webhook, &asks, rows.collect(), slots(8), after(second));
        }
        assert!(flows.status(&webhook).limited, "{kind:?}");
    }
}

#[test]
fn a_webhook_is_looked_at_again_when_its_next_row_is_due() {
    let (flows, webhook) = (Flows::default(), webhook(&TenantId::default(), 1));
    assert!(flows.is_row_due(&webhook, NOW), "unknown");
    let asks = flows.asks(&webhook, slots(8), NOW).unwrap();
    flows.grant(&webhook, &asks, nothing(&asks), slots(8), NOW);
    assert!(!flows.is_row_due(&webhook, after(3600)));
    assert_eq!(flows.step(&webhook, NOW).next_at, None);
    assert!(flows.asks(&webhook, slots(8), NOW).is_none());
    flows.note_stored(&key(&webhook), after(5));
    assert!(!flows.is_row_due(&webhook, after(4)));
    assert!(flows.is_row_due(&webhook, after(5)));
    assert_eq!(flows.step(&webhook, NOW).next_at, Some(after(5)));
}

#[test]
fn a_receiver_that_is_down_limits_its_webhook() {
    let (flows, webhook) = (Flows::default(), webhook(&TenantId::default(), 1));
    let observe = |second| {
        let failed = Observation {
            observed: Observed::Failed,
            ..delivered(after(second))
        };
        flows.observe(&key(&webhook), failed, after(second))
    };
    assert_eq!(observe(0), None, "nothing is known about it");
    assert!(flows.may_begin(&webhook, NOW));
    let changes: Vec<_> = (0..20).filter_map(observe).collect();
    assert!(matches!(changes[..], [Change::Entered(_)]), "{changes:?}");
    assert!(flows.status(&webhook).limited);
}

#[test]
fn a_status_is_of_the_settings_and_of_the_last_resume() {
    let (flows, mut webhook) = opened();
    webhook.settings.retry_rate = 50;
    let limits = webhook.settings.limits();
    assert_eq!(flows.status(&webhook), FlowStatus::unlimited(&limits));
    webhook.health = resumed(WebhookStatus::Paused, after(OPENED)).health;
    assert!(!flows.status(&webhook).limited, "it is the same resume");
    webhook.health.generation += 1;
    assert_eq!(flows.status(&webhook), FlowStatus::resumed(&limits));
}

#[test]
fn a_webhook_that_is_not_called_is_forgotten_after_two_minutes() {
    let (flows, webhook) = (Flows::default(), resumed(WebhookStatus::Paused, NOW));
    flows.step(&webhook, NOW);
    let last = NOW.plus(REMEMBERED_FOR).minus(Millis::new(1));
    flows.forget_idle(last);
    assert!(flows.status(&webhook).limited);
    flows.forget_idle(NOW.plus(REMEMBERED_FOR));
    assert!(!flows.status(&webhook).limited);
    assert!(flows.may_begin(&webhook, NOW.plus(REMEMBERED_FOR)));
}

/// Credit for retries, as far as it is left.
fn retries(flows: &Flows, webhook: &Webhook, now: Timestamp) -> usize {
    flows.forget_rows(&key(webhook));
    let asks = flows.asks(webhook, slots(100), now).unwrap();
    let rows = asks.iter().map(|ask| match ask.kind {
        AttemptKind::Retry => DueRows {
            rows: vec![found(webhook, ask.kind, now).rows.remove(0); ask.limit],
            next_at: None,
        },
        AttemptKind::First => DueRows::default(),
    });
    let granted = flows.grant(webhook, &asks, rows.collect(), slots(100), now);
    granted.rows.len()
}

#[test]
fn credit_is_used_once_unless_the_settings_change() {
    let (flows, mut webhook) = (Flows::default(), webhook(&TenantId::default(), 1));
    assert_eq!(retries(&flows, &webhook, NOW), 1);
    assert_eq!(retries(&flows, &webhook, NOW), 0);
    webhook.settings.retry_rate = 50;
    assert_eq!(retries(&flows, &webhook, NOW), 5, "a tenth of a second's");
}

#[test]
fn a_limited_webhook_stays_limited_when_its_settings_change() {
    let (flows, mut webhook) = (Flows::default(), resumed(WebhookStatus::Paused, NOW));
    assert!(!flows.may_begin(&webhook, NOW));
    webhook.settings.retry_rate = 50;
    assert!(!flows.may_begin(&webhook, NOW));
}

#[test]
fn a_webhook_starts_slowly_for_two_minutes_after_it_was_resumed() {
    let webhook = resumed(WebhookStatus::Paused, NOW);
    let ended = NOW.plus(REMEMBERED_FOR);
    assert!(!Flows::default().may_begin(&webhook, ended.minus(Millis::new(1))));
    assert!(Flows::default().may_begin(&webhook, ended));
}
