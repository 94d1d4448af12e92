# What publishers and operators can rely on
Feature: Publishing and retrying manually

  Scenario: A publisher that disconnects midway leaves nothing stuck
    Given a publisher whose connection breaks while its event is being stored
    When that happens more often than a webhook may have attempts in flight
    Then every event that was stored is delivered, and later events are delivered at once

  Scenario: A repeated call returns the first result
    Given an event published with a key
    When the same call is repeated, even after its webhook was deleted
    Then it returns the first ids and nothing new is stored
    When another event is published with this key
    Then it is rejected

  Scenario: A bulk retry requeues every dead delivery once
    Given 450 dead deliveries and one that was delivered
    When they are retried in bulk while the sweep is running
    Then 450 were requeued, none failed, and each arrives once

  Scenario: Retry now is rejected when it does not apply
    Given a delivery in each state
    When an operator chooses retry now
    Then it is rejected for a delivery that is in flight, pending or delivered
    And the delivered one goes out again when forced
