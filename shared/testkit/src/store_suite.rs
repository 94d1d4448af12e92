//! What every store must do, one function per case. A store joins with a [`Fixture`] and one line:
//!
//! ```ignore
//! postrider_testkit::store_suite!(fixture);
//! ```
//!
//! A store that is embedded in the sending process must do more: its fixture is also an [`EmbeddedFixture`], and it adds
//! [`embedded_suite!`](crate::embedded_suite).

pub mod accepting;
pub mod adding;
pub mod applying;
pub mod backlog;
pub mod batching;
pub mod carrying;
pub mod catalogue;
pub mod claiming;
pub mod draining;
pub mod emails;
pub mod erasing;
pub mod expiring;
pub mod health;
pub mod jobs;
pub mod keys;
pub mod listening;
pub mod listing;
pub mod moving;
pub mod outbox;
pub mod portal_links;
pub mod probes;
pub mod rejected;
pub mod requeueing;
mod scene;
pub mod scheduling;
pub mod sources;
pub mod starting;
pub mod stats;
pub mod stopping;
pub mod tenant_records;
pub mod tenants;
pub mod webhooks;

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_ports::mail_outbox::SentLog;
use postrider_ports::{EmbeddedStore, Store};

use crate::interruption::Interruption;
pub use scene::Scene;

/// A store as seen by one process.
#[derive(Clone)]
pub struct Handle {
    pub store: Arc<dyn Store>,
    /// The process that owns its leases.
    pub process: String,
    /// The store again, if it is embedded in the sending process.
    pub embedded: Option<Arc<dyn EmbeddedStore>>,
    pub waiting_rows: WaitingRows,
}

/// Where the store puts rows of a stopped webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingRows {
    /// They are marked as being in the backlog.
    InBacklog,
    /// They are not written to.
    Unmarked,
}

impl WaitingRows {
    /// Whether a row of a webhook with this status is marked.
    #[must_use]
    pub fn marks(self, status: WebhookStatus) -> bool {
        self == Self::InBacklog && status.is_stopped()
    }
}

/// A fresh, empty store for one case.
#[async_trait]
pub trait Fixture: Send + Sync {
    fn handle(&self) -> Handle;

    /// Another process on the same data; it ends when the handle is dropped.
    async fn another_process(&self) -> Handle;

    /// Ends the process of [`Self::handle`] and starts another one on the same data, for stores that keep state in their
    /// process. Called when all handles are dropped.
    async fn reopen(&self) -> Handle {
        self.handle()
    }

    /// Returns when lists and schedules show everything written so far, for stores whose indexes lag.
    async fn flush(&self) {}

    /// The same, but for what only the watch over fresh rows writes.
    async fn follow(&self) {
        self.flush().await;
    }

    /// Lets the watch see some of the fresh rows that it has not seen yet, in the order in which they were accepted.
    async fn watch(&self, _from: usize, _count: usize) {}

    /// The log of sent e-mails, for stores that share one among several senders.
    fn sent_log(&self) -> Option<Arc<dyn SentLog>> {
        None
    }

    /// What leads to each of these open rows if its message is lost.
    async fn found_by(&self, _: &TenantId, rows: &[DeliveryId]) -> Vec<FoundBy> {
        vec![FoundBy::Poller; rows.len()]
    }

    /// Makes calls of its stores to the outside fail from now on, or no longer. Nothing else is done meanwhile.
    fn interrupt(&self, _: Option<Interruption>) {}
}

/// What leads to an open row whose message is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// It is in a lane that the poller reads.
    Poller,
    /// It is in a lane of its webhook's backlog.
    Drainer,
    /// The record of its acceptance is still ahead of the watch.
    Watch,
    /// It would never be attempted.
    Nothing,
}

/// A fixture whose store is embedded.
pub trait EmbeddedFixture: Fixture {
    /// The store of [`Fixture::handle`].
    fn embedded(&self) -> Arc<dyn EmbeddedStore>;
}

/// Creates one test per case, on the store that `$fixture` (an async function in scope) returns.
#[macro_export]
macro_rules! store_suite {
    ($fixture:ident) => {
        $crate::store_cases! { $fixture,
            accepting {
                an_accepted_event_is_stored_with_its_rows,
                a_repeated_request_is_a_duplicate,
                another_request_under_the_same_key_is_a_conflict,
                a_duplicate_is_known_even_when_the_plan_is_outdated,
                an_outdated_plan_writes_nothing,
                an_event_without_a_webhook_is_stored,
                one_of_concurrent_equal_requests_is_new,
                one_item_of_a_batch_fails_alone,
                a_batch_of_a_hundred_and_thirty_is_stored_whole,
                an_event_for_sixty_webhooks_is_stored_whole,
                a_body_of_any_size_comes_back_byte_for_byte,
                the_largest_json_comes_back_byte_for_byte,
                another_large_request_under_the_same_key_is_a_conflict,
            }
            claiming {
                one_of_many_claimers_wins,
                a_claim_is_rejected_until_its_lease_has_expired,
                an_expired_lease_can_be_claimed_by_another_process,
                a_claim_repeated_by_its_owner_succeeds,
                a_row_taken_for_fresh_is_claimed_only_if_it_is,
                a_row_that_is_not_due_cannot_be_claimed,
                a_closed_row_cannot_be_claimed,
                an_unknown_row_is_missing,
                only_its_holder_can_renew_a_lease,
                a_row_that_is_given_back_is_free_and_due_as_before,
                only_its_holder_can_give_a_row_back,
                a_batch_of_a_hundred_and_thirty_is_claimed_in_order,
                a_claim_has_the_generation_of_its_webhooks_state,
            }
            applying {
                a_delivered_row_is_closed,
                a_failed_row_waits_for_its_next_attempt,
                an_attempt_keeps_its_failure_kind_and_phase,
                a_dead_row_stays_dead,
                a_stale_apply_changes_nothing,
                an_apply_after_a_renewal_counts,
                an_apply_whose_response_was_lost_is_recognised,
                one_of_concurrent_equal_applies_is_recorded,
            }
            stopping {
                a_row_of_a_stopped_webhook_cannot_be_claimed,
                no_row_is_stranded_when_a_webhook_is_paused_and_resumed,
                rows_of_a_deleted_webhook_die_when_they_are_claimed,
                rows_of_a_deleted_webhook_are_ended,
            }
            requeueing {
                a_dead_row_is_requeued_and_its_history_stays,
                a_failed_row_is_requeued,
                a_delivered_row_is_requeued_only_with_force,
                a_pending_row_is_not_requeued,
                a_row_in_flight_is_not_requeued,
                a_row_of_a_disabled_or_deleted_webhook_is_not_requeued,
                a_requeued_row_of_a_paused_webhook_waits,
                an_unknown_row_is_missing,
                a_claim_from_before_the_requeue_is_stale,
            }
            adding {
                an_event_that_no_webhook_got_is_delivered_later,
                a_webhook_has_at_most_one_row_of_an_event,
                nothing_is_added_to_an_event_that_is_not_stored,
            }
            listing {
                pages_reach_the_end_under_concurrent_inserts,
                rows_accepted_in_the_same_millisecond_are_all_seen,
                each_filter_finds_the_matching_rows,
                filters_can_be_combined,
                a_page_reads_a_bounded_number_of_rows_and_the_next_continues,
                an_invalid_cursor_is_rejected,
                the_index_of_failed_and_dead_rows_follows_the_status,
                the_rows_of_an_event_are_those_of_its_tenant,
            }
            backlog {
                a_time_range_contains_the_open_rows_due_in_it,
                a_row_due_far_ahead_waits_for_its_window,
                closed_and_stopped_rows_are_in_no_general_lane,
                a_held_row_stays_in_the_backlog,
                pages_of_a_time_range_reach_its_end,
            }
            draining {
                workers_that_have_seen_the_same_flow_share_its_credit,
                one_of_many_drainers_gets_the_lease,
                a_lease_ends_after_a_minute,
                a_lease_of_a_clock_that_runs_ahead_is_void,
                only_the_holder_of_the_lease_stores_the_limiter,
                a_drainer_does_not_undo_a_pause_or_a_resume,
                one_of_many_workers_limits_the_webhook,
                a_resumed_webhook_is_limited_to_one_per_second,
                retries_take_credit_of_the_webhooks_rate,
                credit_of_a_clock_that_ran_ahead_holds_nothing_up,
                a_limited_or_drained_webhook_has_no_credit,
                a_capped_webhook_is_left_to_its_drainer,
                one_of_many_workers_sends_the_drain_message,
                a_drainer_claims_and_finishes_rows_of_a_backlog,
                a_row_that_left_its_backlog_is_claimed_or_left_to_its_message,
                the_backlog_of_a_webhook_is_counted,
                a_deleted_webhook_has_no_flow,
            }
            jobs {
                a_job_is_stored_and_continues,
                a_cancelled_job_stays_cancelled,
                a_finished_job_cannot_be_cancelled,
                unfinished_jobs_of_all_tenants_are_found,
                progress_of_an_old_step_changes_nothing,
                a_job_cancelled_within_a_slice_is_unfinished,
            }
            keys {
                a_key_is_found_by_its_digest,
                a_key_with_the_same_digest_is_replaced,
                a_revoked_key_is_gone,
                the_last_use_is_recorded,
            }
            webhooks {
                a_webhook_comes_back_as_it_was_stored,
                secrets_and_headers_survive_a_change,
                a_change_based_on_an_old_version_is_rejected,
                every_change_raises_the_version,
                a_failure_count_does_not_raise_the_version,
                a_tenant_has_at_most_a_thousand_webhooks,
                a_status_is_set_once,
                a_change_of_settings_is_notified_once,
                failed_webhooks_of_all_tenants_are_counted,
                an_unknown_webhook_is_missing,
            }
            catalogue {
                a_change_of_an_event_type_raises_the_version,
                an_event_type_is_kept_replaced_and_deleted,
                event_types_are_listed_by_name_and_per_tenant,
                the_largest_event_types_are_kept,
            }
            carrying {
                another_process_opens_a_sealed_value,
                a_forged_value_does_not_open,
                a_session_that_was_ended_stays_ended,
                a_working_store_says_so,
            }
            portal_links {
                a_portal_link_comes_back_once,
                one_of_two_concurrent_uses_wins,
                an_expired_portal_link_is_useless,
                an_unknown_portal_link_is_missing,
                an_ended_portal_is_remembered,
            }
            sources {
                a_source_comes_back_as_it_was_stored,
                secrets_of_a_source_survive_a_change,
                a_change_based_on_an_old_version_is_rejected,
                an_unknown_source_is_missing,
                a_source_belongs_to_its_tenant,
                a_tenant_has_at_most_a_thousand_sources,
                a_source_does_not_raise_the_version_of_webhooks,
                an_event_keeps_the_source_it_came_from,
            }
            rejected {
                a_rejected_request_is_read_as_it_was_stored,
                ten_per_minute_are_stored_and_the_others_counted,
                the_last_hundred_are_stored,
                a_rejected_request_is_not_shown_after_its_retention,
                rejected_requests_belong_to_their_source,
                at_most_ten_of_many_concurrent_ones_are_stored,
                stored_requests_are_notified_and_counted_ones_are_not,
                requests_to_unknown_sources_belong_to_no_tenant,
                deleting_a_source_deletes_its_counters,
            }
            health {
                failures_are_counted_and_a_delivery_clears_them,
                three_failures_are_notified_once,
                exhaustion_fails_the_webhook_when_its_policy_says_so,
                a_receiver_that_is_gone_disables_the_webhook,
                an_attempt_from_before_a_resume_does_not_undo_it,
                a_resumed_webhook_that_keeps_failing_is_failed_again,
                a_delivery_ends_the_probation,
                a_receiver_can_disable_the_webhook,
                a_deleted_webhook_has_no_state_to_change,
            }
            probes {
                a_failed_webhook_is_probed_less_and_less_often,
                one_of_many_processes_sends_the_probe,
                a_probe_that_is_given_back_does_not_count,
                the_last_probe_is_due_again_if_it_is_given_back,
                a_webhook_without_auto_resume_is_not_probed,
                a_successful_probe_resumes_the_webhook,
                a_probe_from_before_an_operator_intervened_does_not_count,
                a_probe_dated_by_a_clock_that_ran_ahead_is_due,
            }
            stats {
                counters_agree_with_the_attempts,
                counters_are_kept_by_hour_and_webhook,
                a_published_event_counts_once_with_its_bytes,
                counters_of_a_deleted_webhook_stay,
            }
            outbox {
                changes_are_notified_in_order,
                notifications_describe_the_change,
                changes_that_are_not_applied_are_not_notified,
                an_inbound_event_is_notified_once,
                a_published_event_is_not_notified,
            }
            moving {
                an_adopted_event_has_its_rows_and_attempts,
                what_happened_elsewhere_is_neither_notified_nor_counted,
                an_adopted_open_row_is_claimed_when_it_is_due,
                an_adopted_row_of_a_paused_webhook_waits,
                a_repeated_request_for_an_adopted_event_is_a_duplicate,
                a_different_event_with_the_same_id_is_not_adopted,
                tenants_with_a_key_or_a_webhook_are_listed,
            }
            tenants {
                no_operation_reaches_another_tenant,
                a_claim_counts_only_for_its_tenant,
                the_same_event_id_is_two_events,
                each_tenant_has_its_own_version_and_webhooks,
            }
            erasing {
                an_erasure_is_stored_and_continues,
                erasures_are_listed_newest_first,
                an_erased_session_is_removed_from_finished_bulk_retries,
                an_erased_event_leaves_only_what_happened,
                an_open_delivery_of_an_erased_event_is_dead,
                an_erased_row_is_not_requeued_whatever_its_webhook_is,
                an_attempt_under_way_ends_before_it_is_erased,
                a_result_that_is_repeated_after_the_erasure_brings_nothing_back,
                an_erased_event_does_not_come_back,
                a_body_of_any_size_is_erased,
                erasing_leaves_other_events_and_tenants_alone,
                the_settings_of_a_tenant_are_deleted_in_slices,
                an_event_is_deleted_whole,
                the_rest_of_a_tenant_is_deleted_in_slices,
                a_forgotten_tenant_does_not_exist,
            }
            tenant_records {
                a_record_comes_back_as_it_was_stored,
                a_change_based_on_an_old_record_is_rejected,
                a_record_makes_plans_outdated_and_comes_with_the_webhooks,
                tenants_with_and_without_a_record_are_listed_page_by_page,
                a_tenant_has_as_many_webhooks_as_its_record_allows,
                a_tenant_whose_last_key_is_revoked_still_exists,
            }
        }
    };
}

/// Creates one test per case that applies only to an embedded store.
#[macro_export]
macro_rules! embedded_suite {
    ($fixture:ident) => {
        $crate::store_cases! { $fixture,
            starting {
                a_row_can_be_accepted_already_claimed,
                a_reserved_row_of_a_stopped_webhook_is_not_claimed,
            }
            batching {
                a_batch_of_rejected_requests_is_stored_and_counted,
            }
            scheduling {
                the_agenda_has_one_entry_per_webhook_with_open_rows,
                due_rows_come_longest_overdue_first,
                closed_and_held_rows_are_not_due,
                a_row_whose_lease_has_expired_is_due_again,
                pages_of_the_agenda_reach_its_end,
                first_attempts_and_retries_are_read_separately,
                due_rows_can_be_read_from_a_range_of_time,
            }
            listening {
                a_listener_is_woken,
                old_notifications_are_removed,
                notifications_dated_by_a_clock_that_ran_ahead_keep_no_others,
                a_position_is_never_used_twice,
            }
            emails {
                a_failed_webhook_is_one_email_per_episode,
                warnings_of_a_webhook_are_an_hour_apart,
                an_email_stays_until_it_is_settled,
                emails_of_all_tenants_come_in_order,
                a_webhooks_owner_is_known,
                an_email_put_off_by_a_clock_that_ran_ahead_is_due,
                a_warning_dated_by_a_clock_that_ran_ahead_silences_no_other,
            }
            expiring {
                finished_rows_are_removed_after_their_retention,
                an_open_row_is_notified_before_it_is_removed,
                an_event_is_removed_with_its_last_row,
                an_event_without_a_webhook_is_removed_after_its_retention,
                a_held_row_stays,
                removal_respects_its_limit,
                retained_rows_do_not_hide_the_expired_ones_behind_them,
                rows_of_a_tenant_with_a_shorter_retention_are_removed_sooner,
                rows_of_many_tenants_are_removed_in_several_calls,
                rejected_requests_are_removed_after_their_retention,
                old_counters_and_emails_are_removed,
                rows_accepted_by_a_clock_that_ran_ahead_do_not_stop_retention,
                events_accepted_by_a_clock_that_ran_ahead_do_not_stop_retention,
            }
        }
    };
}

/// Creates one test per case. Used by [`store_suite!`](crate::store_suite).
#[doc(hidden)]
#[macro_export]
macro_rules! store_cases {
    ($fixture:ident, $($area:ident { $($case:ident,)+ })+) => {
        $(mod $area {
            $(#[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::store_suite::$area::$case(super::$fixture().await).await;
            })+
        })+
    };
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn every_case_is_in_the_list() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store_suite");
        let list = include_str!("store_suite.rs");
        let mut cases = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let area = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if area == "scene" {
                continue;
            }
            let listed = list.split(&format!(" {area} {{")).nth(1).unwrap();
            let listed = listed.split('}').next().unwrap();
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                if let Some(rest) = line.strip_prefix("pub async fn ") {
                    let case = rest.split('(').next().unwrap();
                    assert!(listed.contains(&format!("{case},")), "{area}::{case}");
                    cases += 1;
                }
            }
        }
        assert!(cases > 80);
    }
}
