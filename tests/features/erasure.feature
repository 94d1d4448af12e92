# An operator erases what a publisher should not have sent, or what a customer asks to be forgotten
Feature: Erasing events and deleting tenants

  Scenario: The bytes of an erased event are in no file
    Given a receiver that repeats the payload in its error
    And a small and a large event that it refused
    When the operator erases both
    Then neither payload nor response is in any file of the data directory
    And what happened to the deliveries is still known

  Scenario: An open delivery of an erased event is never sent
    Given a delivery that waits for its next attempt
    When the operator erases its session
    Then the delivery is dead because it was erased
    And nothing is sent when it would have been due

  Scenario: The deletion of a tenant survives a crash and nothing of it is sent
    Given a tenant with 120 deliveries that wait for their next attempt
    When the operator deletes the tenant and the gateway crashes
    Then after the restart the deletion goes on to its end
    And nothing was sent
