# UC-0269: Re-Queue Undelivered Webhooks on WebhookRouter Startup
Feature: After a restart what was not delivered goes out, and what is dead stays dead

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

  # Of our own.

  Scenario: Rows that are due later wait for their time after a restart
    Given a row with status "failed" that is due in 30 seconds
    When the gateway restarts
    Then no attempt is made in the first cycle, and the gateway knows when the row is due
    And it is attempted when its time has come

  Scenario: Starting writes nothing
    Given rows in every status
    When the gateway restarts and has not yet looked for work
    Then every row is exactly as it was

  Scenario: What was in flight when the process died goes out in the first cycle
    Given an attempt under way
    When the process dies in the middle of it and starts again
    Then the row is attempted in the first cycle, without waiting for its lease to end
