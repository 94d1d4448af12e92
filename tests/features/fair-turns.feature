# DESIGN 9: timing and pace of the embedded gateway
Feature: Webhooks do not stand in each other's way

  Scenario: Retries of one webhook are held to its retry rate
    Given 12 rows of one webhook that failed in the same second and a retry_rate of 5
    When they are due
    Then no second sees more than 5 of them, and each is moved at most once

  Scenario: First attempts are not held to the retry rate
    Given a webhook with a retry_rate of 1
    When 20 events are published
    Then all 20 are attempted at once

  Scenario: A receiver that hangs does not delay the others
    Given a webhook whose receiver hangs and many deliveries for it
    When an event for another webhook is published
    Then it is delivered while the first receiver still hangs
    And the first webhook has no more under way than its bound

  Scenario: A paused webhook keeps its deliveries and a resumed one sends them
    Given a paused webhook
    When 3 events are published and the webhook is resumed
    Then nothing was attempted before, and all 3 arrive after

  Scenario: A deleted webhook's open deliveries die
    Given a delivery that waits for its retry
    When its webhook is deleted
    Then the delivery is dead with the reason webhook deleted

  Scenario: A changed webhook is used from the next attempt on
    Given a delivery that failed
    When the webhook's URL and secret are changed
    Then the next attempt goes to the new URL, signed with both secrets

  Scenario: The gateway wakes when a row is due, not only when it polls
    Given a running gateway that polls once a minute and a row due in 10 seconds
    When 10 seconds pass
    Then the row is attempted

  Scenario: Retries that waited out a pause are still held to the rate
    Given 8 retries that were given turns, and their webhook paused before these came
    When the webhook is resumed a minute later
    Then they go out at the retry rate, not all at once

  Scenario: A clock that jumps causes no second attempt beside the first
    Given an attempt under way
    When the clock jumps past the end of its lease
    Then the row is not attempted again while the first attempt lasts
