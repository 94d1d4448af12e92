# ADR-0040, "Metrics to Monitor": the five key stats and their thresholds
Feature: Key stats show how well webhooks work

  Scenario: A delivery that succeeds after retries counts as a success and as retried
    Given a webhook whose receiver fails once and then responds with 200
    When an event is published and retried after its delay
    Then webhook_delivery_success_rate is 100 and does not alert
    And webhook_retry_rate is 100 and alerts
    And webhook_delivery_p95_latency is measured from the event, including the delay before the retry, and alerts
    And webhook_avg_retries_per_delivery is 1 and does not alert

  Scenario: Dead deliveries lower the success rate
    Given a webhook to which 18 deliveries arrive at once
    When one delivery is exhausted
    Then webhook_delivery_success_rate is 18 of 19 and alerts
    When another one arrives
    Then webhook_delivery_success_rate is 95 and does not alert

  Scenario: A webhook counts as failed until it is resumed
    Given a webhook with the profile public-api whose receiver is down
    When a delivery is exhausted
    Then webhook_failed_count is 1
    When the webhook is resumed
    Then webhook_failed_count is 0

  Scenario: Deliveries before the window are not counted
    Given a delivery that arrived
    When a day and an hour have passed
    Then the key stats of the last day are empty and none alerts
