# UC-0269: Re-Queue Undelivered Webhooks on WebhookRouter Startup
Feature: After a restart undelivered rows go out and dead rows stay dead

  Scenario: WebhookRouter restart dispatches past-due failed rows
    Given the webhook_deliveries table contains 3 rows with status "failed" and next_retry_at in the past
    And the WebhookRouter GenServer is restarting
    When WebhookRouter.init/1 executes
    Then all 3 rows are queued for dispatch in the first poll cycle
    And within 5 seconds of startup all 3 delivery attempts are made

  Scenario: WebhookRouter restart does not re-queue dead rows
    Given the webhook_deliveries table contains 2 rows with status "dead"
    When WebhookRouter.init/1 executes
    Then neither dead row is dispatched or re-scheduled
    And the rows remain with status "dead" after startup

  # Not from the document.

  Scenario: Rows due later still wait after a restart
    Given a row with status "failed" that is due in 30 seconds
    When the gateway restarts
    Then no attempt is made in the first cycle, and the gateway knows when the row is due
    And it is attempted when it is due

  Scenario: Starting writes nothing
    Given rows in every status
    When the gateway restarts and has not yet polled
    Then every row is unchanged

  Scenario: Attempts in flight when the process died are repeated in the first cycle
    Given an attempt in flight
    When the process dies during the attempt and starts again
    Then the row is attempted in the first cycle, without waiting for its lease to expire
