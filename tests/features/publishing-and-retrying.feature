# DESIGN 5 and 13: what publishers and operators may count on
Feature: Publishing and retrying by hand

  Scenario: A publisher that goes away in the middle leaves nothing behind
    Given a publisher whose connection breaks while its event is being stored
    When that happens more often than a webhook may have attempts under way
    Then every event that was stored is delivered, and later events are delivered at once

  Scenario: A repeated call finds the first one
    Given an event published with a key
    When the same call is repeated, even after its webhook was deleted
    Then it is answered with the first ids and nothing new is stored
    When another event is published with this key
    Then it is refused

  Scenario: A bulk retry puts every dead delivery back once
    Given 450 dead deliveries and one that was delivered
    When they are retried in bulk while the sweep is at work
    Then 450 were put back, none failed, and each arrives once

  Scenario: Retry now is refused when it makes no sense
    Given a delivery in each state
    When a person says retry now
    Then one in flight, one that is pending and one that was delivered are refused
    And the delivered one goes out again when forced
