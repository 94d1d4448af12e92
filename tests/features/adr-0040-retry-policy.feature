# ADR-0040: Webhook Retry Policy, the decision tables under the profile public-api
Feature: Under the profile public-api answers are told apart, and a webhook fails when a delivery is exhausted

  Scenario: Retries follow five to the power of n seconds
    Given a webhook of the profile public-api without jitter
    When its delivery fails until it is dead
    Then the attempts lie 5, 25, 125, 625 and 3125 seconds apart

  Scenario: Server errors are retried
    When the receiver answers 500, 502, 503 or 504
    Then the delivery is failed and will be attempted again

  Scenario: Connection problems are retried
    When the connection is refused, or the attempt times out
    Then the delivery is failed and will be attempted again

  Scenario: Client errors are final
    When the receiver answers 400, 401, 403, 404 or 405
    Then the delivery is dead after one attempt and the webhook stays active

  Scenario: Redirects count as delivered and are not followed
    When the receiver answers 301
    Then the delivery is delivered and the target of the redirect saw nothing

  Scenario: A malformed response is final
    When the receiver answers something that is not HTTP
    Then the delivery is dead after one attempt

  Scenario: Rate limited with Retry-After waits as long as asked
    When the receiver answers 429 with Retry-After 60
    Then the next attempt is due in 60 seconds and the attempt counts

  Scenario: Gone disables the webhook
    When the receiver answers 410
    Then the delivery is dead and the webhook is disabled
    And later events skip it, and naming it is refused

  Scenario: Recent failures leave the webhook active but degraded
    When three attempts in a row fail
    Then the webhook is active with failure_count 3, and webhook.degraded was announced once
    When the next attempt is delivered
    Then failure_count is 0

  Scenario: Exhausted retries fail the webhook and later deliveries wait
    Given a webhook of the profile public-api whose receiver is down
    When a delivery has used up its five retries
    Then the webhook is failed and webhook.failed was announced once
    And a later event is accepted, and its delivery waits

  Scenario: Resume sets a failed webhook going and sends what waited
    Given a failed webhook with a delivery that waits
    When a person resumes it and the receiver is well again
    Then it is active with failure_count 0 and the waiting delivery arrives
    And the dead delivery stays dead

  Scenario: A receiver that never answers is given up after the timeout
    Given a webhook with a timeout of 1 second
    When the receiver takes the request and answers nothing
    Then the attempt fails with a timeout in the phase first_byte

  Scenario: X-Webhook-Retry counts the attempts before
    When a delivery arrives at its third attempt
    Then X-Webhook-Retry was 0, 1 and 2
