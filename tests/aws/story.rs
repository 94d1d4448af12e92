//! The whole gateway, deployed once, and everything that must hold of it, one after the other: a deployment takes longer
//! than most of the sections.

use super::stack::Stack;
use super::{
    announcing, delivering, inspecting, key_stats, mailing, mending, receiving, recovering,
};

#[tokio::test]
async fn the_deployed_stack_delivers_announces_and_recovers() {
    let mut stack = Stack::deploy().await;
    // Most of the story is waiting; a browser has the time meanwhile.
    tokio::join!(
        story(&stack),
        inspecting::the_inspector_works_as_it_does_embedded(&stack)
    );
    recovering::two_dispatchers_on_one_delivery_make_one_post(&stack).await;
    recovering::a_lost_hint_is_made_good_by_the_poller(&stack).await;
    recovering::a_poison_message_ends_in_the_redrive_queue_alone(&stack).await;
    recovering::a_function_without_its_role_can_do_nothing(&stack).await;
    recovering::everything_restarts_between_two_attempts(&mut stack).await;
}

async fn story(stack: &Stack) {
    delivering::what_is_published_is_delivered(stack).await;
    let mending = mending::a_webhook_with_auto_resume_fails(stack).await;
    delivering::a_body_of_the_largest_size_is_delivered_and_a_larger_one_refused(stack).await;
    delivering::the_command_works_against_it(stack).await;
    receiving::a_signed_request_is_routed_and_a_forged_one_refused(stack).await;
    receiving::what_a_source_sends_is_announced_and_what_was_refused_is_kept(stack).await;
    announcing::a_failing_receiver_leads_to_retries_death_an_event_and_a_mail(stack).await;
    mailing::three_failures_in_a_row_are_one_warning(stack).await;
    key_stats::the_five_figures_are_written_under_their_names(stack).await;
    announcing::what_waits_for_a_failed_webhook_goes_out_when_it_is_resumed(stack).await;
    mending::a_resumed_webhook_that_fails_at_once_mails_nobody_a_second_time(stack).await;
    mending::it_is_tested_and_resumes_by_itself(stack, mending).await;
    delivering::a_dead_delivery_is_sent_again_when_a_person_says_so(stack).await;
    delivering::a_dead_delivery_is_compared_with_another_url_and_stays_dead(stack).await;
}
