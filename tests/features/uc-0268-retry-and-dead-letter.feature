# UC-0268: Retry Webhook Delivery with Exponential Backoff and Dead Letter
Feature: A failed delivery is retried on the exact schedule and is dead after the fifth failure

  Scenario: First delivery failure schedules 30-second retry
    Given a webhook_deliveries row with status "pending" and attempt_count 0
    And the target_url returns a 500 response
    When the WebhookRouter processes this row
    Then the row is updated with status "failed", attempt_count 1
    And next_retry_at is approximately 30 seconds from now
    And error_detail contains the failure reason

  Scenario: Fifth consecutive delivery failure marks row dead and emits WebhookDLQEvent
    Given a webhook_deliveries row with status "failed" and attempt_count 4
    And the target_url returns a 500 response
    When the WebhookRouter processes this row
    Then the row is updated with status "dead" and attempt_count 5
    And a WebhookDLQEvent is broadcast on the "gateway:webhooks" PubSub topic
    And no next_retry_at is set

  # Not from the document's Gherkin: its alternate flow, and the tables of UC-0268 and ADR-020.

  Scenario: A 2xx response marks the row delivered and sends a notification
    Given a webhook_deliveries row with status "pending"
    And the target_url returns a 204 response
    When the WebhookRouter processes this row
    Then the row is updated with status "delivered" and no next_retry_at
    And a delivery success event is broadcast on "gateway:webhooks"
    And no further attempt is made

  Scenario: The delays between attempts follow the schedule
    Given a webhook whose target_url returns a 500 response
    When its delivery is attempted until it is dead
    Then the attempts are 30, 120, 600 and 3600 seconds apart

  Scenario: Six attempts use the six hour delay of ADR-020
    Given a webhook with the profile gateway and max_attempts 6
    When its delivery is attempted until it is dead
    Then the attempts are 30, 120, 600, 3600 and 21600 seconds apart

  Scenario: A network error counts as a failed attempt
    Given a webhook whose target_url refuses connections
    When the WebhookRouter processes this row
    Then the row is updated with status "failed", attempt_count 1
    And error_detail names the connection

  Scenario: A dead row is not attempted again until an operator retries it
    Given a webhook_deliveries row with status "dead"
    When a day passes
    Then no attempt is made
    When an operator chooses retry now
    Then the row is pending with attempt_count 0
    And it is delivered, and its attempt history continues

  Scenario: Every attempt carries the HMAC of the body
    Given a webhook with a secret
    When an event is delivered to it
    Then X-Observatory-Signature is sha256= followed by the HMAC of the body
    And the body is the payload byte for byte
