# webhook-retry-jitter-budget: FR-001 to FR-004, one scenario per acceptance criterion
Feature: Jitter spreads retries, a budget caps them, and neither changes anything else

  Scenario: FR-001 AC1 jitter is configured in basis points from 0 to 10000
    Given the setting POSTRIDER_RETRY_JITTER_BPS, or the spec's own name for it
    When it is outside 0 to 10000
    Then the gateway refuses to start and names the setting and the range

  Scenario: FR-001 AC2 without jitter the backoff is the exact schedule
    Given a gateway with jitter 0
    When a delivery fails repeatedly
    Then each delay is exactly that of the schedule

  Scenario: FR-001 AC3 with jitter each wait lies within its window and is clamped
    Given a gateway with jitter 2500 and a webhook with a max_backoff
    When a delivery fails repeatedly
    Then each delay is within base plus or minus a quarter, and within max_backoff

  Scenario: NFR-002 a thousand rows that fail in the same second are spread
    Given 1000 rows that fail in the same second
    When each is given its next attempt with jitter 2000
    Then no tenth of the window holds more than twice its share

  Scenario: FR-002 AC1 the budget is a non-negative integer
    Given the setting POSTRIDER_RETRY_BUDGET, or the spec's own name for it
    When it is negative or not a number
    Then the gateway refuses to start and names the setting

  Scenario: FR-002 AC2 a budget of 0 is off
    Given a gateway with retry budget 0
    When a delivery fails until it is dead
    Then it had as many attempts as its row allows

  Scenario: FR-002 AC3 a budget lowers the effective maximum
    Given a gateway with retry budget 2
    When a delivery fails until it is dead
    Then it had 3 attempts, and its row still has max_attempts 5

  Scenario: FR-003 AC1 with jitter and budget a 2xx response still delivers
    Given a gateway with jitter 10000 and retry budget 1
    When the receiver responds with 200
    Then the row is delivered on its first attempt

  Scenario: FR-003 AC2 under the limit a failed attempt is marked for retry
    Given a gateway with jitter 1000 and retry budget 3
    When the first attempt fails
    Then the row is failed with a bounded next_retry_at

  Scenario: FR-003 AC3 at the limit a failed attempt is final
    Given a gateway with retry budget 1
    When the second attempt fails
    Then the row is dead and has no next_retry_at

  Scenario: FR-004 AC1 settings reach the decision
    Given the settings of jitter and budget in the environment
    When the gateway is started with them
    Then its decisions use them
