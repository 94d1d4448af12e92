# Timing and rate limits of the embedded gateway
Feature: Webhooks do not slow each other down

  Scenario: Retries of one webhook are limited to its retry rate
    Given 9 rows of one webhook that failed in the same second and a retry_rate of 5
    When they are due
    Then no more than 5 are attempted in any second, and those that wait are not written to

  Scenario: First attempts are not limited by the retry rate
    Given a webhook with a retry_rate of 1
    When 20 events are published
    Then all 20 are attempted at once

  Scenario: All attempts of a webhook keep to its max rate
    Given a webhook with a max_rate of 10 and a retry_rate of 10
    When 30 events are published, 10 of which fail at first
    Then no more than 11 attempts begin in any second, and the oldest go first

  Scenario: A webhook never has more attempts in flight than its max in flight
    Given a webhook with a max_in_flight of 2 whose receiver hangs
    When 10 events are published
    Then only 2 attempts are in flight, and the others follow one by one

  Scenario: A receiver that hangs does not delay the others
    Given a webhook whose receiver hangs and many deliveries for it
    When an event for another webhook is published
    Then it is delivered while the first receiver still hangs
    And the first webhook has no more attempts in flight than its limit

  Scenario: A paused webhook holds its deliveries and sends them when resumed
    Given a paused webhook
    When 3 events are published and the webhook is resumed
    Then nothing was attempted before, and all 3 arrive after

  Scenario: Deleting a webhook ends its open deliveries
    Given a delivery waiting for its retry
    When its webhook is deleted
    Then the delivery is dead with the reason webhook deleted

  Scenario: Changes to a webhook apply from the next attempt
    Given a delivery that failed
    When the webhook's URL and secret are changed
    Then the next attempt goes to the new URL, signed with both secrets

  Scenario: The gateway wakes when a row is due, not only when it polls
    Given a running gateway that polls once a minute and a row due in 10 seconds
    When 10 seconds pass
    Then the row is attempted

  Scenario: Retries that were due during a pause are still rate limited
    Given 8 retries that are due, and a webhook that is paused after the first
    When the webhook is resumed a minute later
    Then they go out at the retry rate, not all at once

  Scenario: A clock jump does not start a second attempt alongside the first
    Given an attempt in flight
    When the clock jumps past the end of its lease
    Then the row is not attempted again while the first attempt is in flight

  Scenario: A row that cannot be read does not hold up the rows behind it
    Given retries of one webhook of which the first cannot be read
    When they are due
    Then all others are attempted
