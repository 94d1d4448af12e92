# ADR-0040: Webhook Retry Policy, its decision tables under the profile public-api
Feature: Under the profile public-api responses are classified by status, and a webhook fails when a delivery is exhausted

  Scenario: Retries follow five to the power of n seconds
    Given a webhook with the profile public-api and no jitter
    When its delivery fails until it is dead
    Then the attempts are 5, 25, 125, 625 and 3125 seconds apart

  Scenario: Server errors are retried
    When the receiver responds with 500, 502, 503 or 504
    Then the delivery is failed and will be attempted again

  Scenario: Connection problems are retried
    When the connection is refused, or the attempt times out
    Then the delivery is failed and will be attempted again

  Scenario: Client errors are final
    When the receiver responds with 400, 401, 403, 404 or 405
    Then the delivery is dead after one attempt and the webhook stays active

  Scenario: Redirects count as delivered and are not followed
    When the receiver responds with 301
    Then the delivery is delivered and the redirect target gets no request

  Scenario: A malformed response is final
    When the receiver responds with something that is not HTTP
    Then the delivery is dead after one attempt

  Scenario: Rate limited with Retry-After waits as long as requested
    When the receiver responds with 429 and Retry-After 60
    Then the next attempt is due in 60 seconds and the attempt counts

  Scenario: Under the profile standard Retry-After never shortens the schedule
    Given a webhook with the profile standard and no jitter
    When the receiver responds with 429 and Retry-After 7 to every attempt
    Then the first retry is 7 seconds later and the others follow the schedule of three days

  Scenario: Gone disables the webhook
    When the receiver responds with 410
    Then the delivery is dead and the webhook is disabled
    And later events skip it, and publishing to it by id is rejected

  Scenario: Recent failures leave the webhook active but degraded
    When three attempts in a row fail
    Then the webhook is active with failure_count 3, and webhook.degraded was sent once
    When the next attempt is delivered
    Then failure_count is 0

  Scenario: Exhausted retries fail the webhook and later deliveries wait
    Given a webhook with the profile public-api whose receiver is down
    When a delivery has used up its five retries
    Then the webhook is failed and webhook.failed was sent once
    And a later event is accepted, and its delivery waits

  Scenario: Resuming a failed webhook sends its waiting deliveries
    Given a failed webhook with a waiting delivery
    When an operator resumes it and the receiver has recovered
    Then it is active with failure_count 0 and the waiting delivery arrives
    And the dead delivery stays dead

  Scenario: An attempt times out when the receiver never responds
    Given a webhook with a timeout of 1 second
    When the receiver accepts the request and does not respond
    Then the attempt fails with a timeout in the phase first_byte

  Scenario: X-Webhook-Retry counts previous attempts
    When a delivery arrives on its third attempt
    Then X-Webhook-Retry was 0, 1 and 2
