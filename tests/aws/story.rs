//! The whole gateway, deployed and then tested section by section: a deployment takes longer than most sections. There are two
//! stacks, each on its own emulator, because an emulator is a single thread.

use std::time::Duration;

use super::stack::Stack;
use super::{
    bulk_retries, delivering, erasing, eventbridge, failed_webhooks, inspecting, key_stats,
    mailing, moving, notifying, operating, outages, receiving, recovering, restoring, validating,
};

#[tokio::test]
async fn the_deployed_stack_is_restored_delivers_and_notifies() {
    let mut stack = Stack::deploy().await;
    operating::a_check_of_the_stack_finds_what_is_wrong(&stack).await;
    // First, so that everything else runs on the restored tables.
    restoring::the_stack_is_restored_and_everything_acknowledged_is_delivered(&mut stack).await;
    operating::failed_stream_records_are_processed_again(&stack).await;
    operating::the_costs_of_the_stack_are_listed(&stack).await;
    // Most of the time is spent waiting, so these run in parallel.
    tokio::join!(
        story(&stack),
        inspecting::the_inspector_works_as_it_does_embedded(&stack),
        operating::roles_are_limited_to_their_rows(&stack)
    );
}

#[tokio::test]
async fn the_deployed_stack_moves_drains_and_recovers() {
    let mut stack = Stack::deploy().await;
    // An export needs a gateway in which no webhooks are created meanwhile.
    tokio::select! {
        () = moving::a_gateway_moves_to_the_stack_and_back(&stack) => {}
        never = stack.ticking(Duration::from_secs(5)) => match never {},
    }
    eventbridge::an_event_of_the_bus_is_delivered_and_its_delivery_notified_on_the_bus(&stack)
        .await;
    eventbridge::an_event_that_cannot_be_published_goes_to_the_dead_letter_queue(&stack).await;
    eventbridge::events_in_the_dead_letter_queue_are_published_again(&stack).await;
    validating::a_payload_that_does_not_match_its_schema_is_accepted_and_counted(&stack).await;
    outages::a_receiver_that_is_down_delays_no_other_and_gets_everything_later(&stack).await;
    outages::a_backlog_is_delivered_although_its_drainer_is_killed(&stack).await;
    outages::a_backlog_is_delivered_although_its_messages_are_lost_and_the_poller_stood_still(
        &stack,
    )
    .await;
    bulk_retries::every_dead_delivery_is_retried_once(&stack).await;
    erasing::an_event_is_erased_and_a_tenant_deleted(&stack).await;
    recovering::two_dispatchers_on_one_delivery_make_one_post(&stack).await;
    recovering::the_poller_replaces_a_lost_message(&stack).await;
    recovering::only_a_poison_message_ends_in_the_dead_letter_queue(&stack).await;
    recovering::a_function_without_its_role_can_do_nothing(&stack).await;
    recovering::everything_restarts_between_two_attempts(&mut stack).await;
}

async fn story(stack: &Stack) {
    delivering::a_published_event_is_delivered(stack).await;
    let failed = failed_webhooks::a_webhook_with_auto_resume_fails(stack).await;
    delivering::a_body_of_the_maximum_size_is_delivered_and_a_larger_one_rejected(stack).await;
    delivering::the_command_works_with_the_stack(stack).await;
    receiving::a_signed_request_is_routed_and_a_forged_one_rejected(stack).await;
    receiving::inbound_events_are_notified_and_rejected_requests_are_stored(stack).await;
    notifying::a_failing_receiver_causes_retries_a_dead_delivery_a_notification_and_an_email(stack)
        .await;
    mailing::three_failures_in_a_row_are_one_warning(stack).await;
    key_stats::the_five_key_stats_are_written_under_their_names(stack).await;
    notifying::deliveries_of_a_failed_webhook_go_out_when_it_is_resumed(stack).await;
    failed_webhooks::a_resumed_webhook_that_fails_at_once_sends_no_second_email(stack).await;
    failed_webhooks::it_is_probed_and_resumes_automatically(stack, failed).await;
    delivering::a_dead_delivery_is_sent_again_when_an_operator_retries_it(stack).await;
    delivering::a_dead_delivery_is_compared_with_another_url_and_stays_dead(stack).await;
}
