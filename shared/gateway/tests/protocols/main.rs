//! The protocols between processes as models for `stateright`, which visits every state that they can reach.
//!
//! Each model has a list of flaws: rules that an implementation could break. The protocol as it is implemented keeps its
//! promises in all states, and each flaw breaks one. Where a rule is pure code, the model calls that code: `Delivery::claim`,
//! `Claimed::still_holds` and `Registration::is_settled`.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "test code: a failed expectation stops the test, with its location"
)]

mod backlog;
mod claims;
mod rounds;
mod watch;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;

use stateright::{Checker, HasDiscoveries, Model};

use self::backlog::Backlog;
use self::claims::Claims;
use self::rounds::Rounds;
use self::watch::Watch;

/// What a checker needs of a model.
trait Checked:
    Model<
        State: Debug + Clone + PartialEq + Hash + Send + Sync + 'static,
        Action: Debug + Clone + PartialEq,
    > + Send
    + Sync
    + 'static
{
}

impl Checked for Backlog {}
impl Checked for Claims {}
impl Checked for Rounds {}
impl Checked for Watch {}

/// Visits all states and expects that every promise is kept. Returns how many there are.
fn holds(model: impl Checked) -> usize {
    let checker = model.checker().spawn_bfs().join();
    checker.assert_properties();
    println!("{} states", checker.unique_state_count());
    checker.unique_state_count()
}

/// Expects that this promise is broken, and prints the shortest way there.
fn broken(model: impl Checked, promise: &'static str) {
    let found = HasDiscoveries::AllOf(BTreeSet::from([promise]));
    let checker = model.checker().finish_when(found).spawn_bfs().join();
    let path = checker.assert_any_discovery(promise);
    println!("{promise}: {:?}", path.into_actions());
}

#[test]
fn claims_keep_their_promises() {
    assert!(holds(Claims::default()) > 1_000);
}

#[test]
fn a_lease_that_ends_at_its_last_instant_allows_two_requests_at_once() {
    let flaw = Some(claims::Flaw::LeaseEndsTooEarly);
    broken(Claims { flaw }, "one request at a time");
}

#[test]
fn without_a_start_guard_a_late_worker_sends_beside_another() {
    let flaw = Some(claims::Flaw::NoStartGuard);
    broken(Claims { flaw }, "one request at a time");
}

#[test]
fn a_start_guard_without_spare_time_does_not_allow_for_different_clocks() {
    let flaw = Some(claims::Flaw::NoSpare);
    broken(Claims { flaw }, "one request at a time");
}

#[test]
fn without_fencing_a_late_result_opens_a_delivered_row() {
    let flaw = Some(claims::Flaw::NoFencing);
    broken(Claims { flaw }, "delivered stays delivered");
}

#[test]
fn without_fencing_a_result_whose_answer_was_lost_counts_twice() {
    let flaw = Some(claims::Flaw::NoFencing);
    broken(Claims { flaw }, "an attempt counts once");
}

#[test]
fn without_a_due_check_a_message_sends_a_retry_too_early() {
    let flaw = Some(claims::Flaw::NoDueCheck);
    broken(Claims { flaw }, "no attempt before it is due");
}

#[test]
fn backlogs_keep_their_promise() {
    assert!(holds(Backlog::default()) > 1_000);
}

#[test]
fn a_row_that_is_moved_before_its_backlog_is_registered_can_be_stranded() {
    let flaw = Some(backlog::Flaw::MovesBeforeItRegisters);
    broken(Backlog { flaw }, "a row in a backlog is registered");
}

#[test]
fn a_registration_removed_too_soon_strands_a_row_that_the_index_does_not_show_yet() {
    let flaw = Some(backlog::Flaw::DoesNotWaitForTheIndex);
    broken(Backlog { flaw }, "a row in a backlog is registered");
}

#[test]
fn removing_a_renewed_registration_strands_the_row_it_was_renewed_for() {
    let flaw = Some(backlog::Flaw::RemovesARenewedRegistration);
    broken(Backlog { flaw }, "a row in a backlog is registered");
}

#[test]
fn rounds_leave_no_page_out() {
    holds(Rounds::default());
}

#[test]
fn a_position_that_moves_before_the_page_is_done_leaves_it_out() {
    let flaw = Some(rounds::Flaw::MovesBeforeThePageIsDone);
    broken(Rounds { flaw }, "no page is left out");
}

#[test]
fn the_watch_keeps_its_promises() {
    assert!(holds(Watch::default()) > 1_000);
}

#[test]
fn a_batch_acknowledged_before_it_is_done_strands_a_row() {
    let flaw = Some(watch::Flaw::AcknowledgesBeforeTheBatchIsDone);
    broken(Watch { flaw }, "every open row is found");
}

#[test]
fn a_failed_batch_that_is_acknowledged_strands_a_row() {
    let flaw = Some(watch::Flaw::AcknowledgesAFailedBatch);
    broken(Watch { flaw }, "every open row is found");
}

#[test]
fn a_lane_given_without_a_condition_outlives_a_closed_row() {
    let flaw = Some(watch::Flaw::GivesClosedRowsALane);
    broken(Watch { flaw }, "a closed row has no lane");
}

#[test]
fn a_lane_that_raises_the_version_rejects_the_result_of_the_holder() {
    let flaw = Some(watch::Flaw::RaisesTheVersion);
    broken(Watch { flaw }, "a holder can write its result");
}
