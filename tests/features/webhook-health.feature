# A failing receiver gets less load and is brought back gradually
Feature: A webhook's health follows its receiver, and its owner is notified once

  Scenario: A webhook degrades, fails, is resumed and recovers
    Given a webhook with the profile public-api whose receiver goes down
    When its deliveries fail, and one is exhausted
    Then it was degraded at the third failure, then failed, and each was notified once
    When its receiver has recovered and an operator resumes it
    Then all waiting deliveries arrive, and it is active at its full rate

  Scenario: Waiting deliveries go out slowly at first and then as fast as the receiver takes them
    Given a webhook with 60 waiting deliveries
    When it is resumed and its receiver works
    Then one delivery goes out in each of the first 3 seconds, and at most twice as many in each later one
    And all 60 arrive

  Scenario: A resumed webhook whose receiver is still down fails again and is reported as repeated
    Given a failed webhook with 6 waiting deliveries
    When it is resumed and the first 3 attempts fail
    Then it is failed again, and the notification says that it is not the first time
    And the other deliveries keep waiting

  Scenario: A single success after a resume ends the probation
    Given a failed webhook that was resumed
    When the first attempt succeeds and the next 3 fail
    Then it is active and degraded

  Scenario: A single failure limits nothing
    When one of a webhook's attempts is answered with 429, 503 or 500
    Then its first attempts still start at once

  Scenario: A receiver that is down is called once or twice per second until it answers
    Given a receiver that answers every request with 500, 503 or 429
    When at most 10 attempts have failed in a row
    Then its webhook is limited to 1 or 2 attempts per second, first attempts included

  Scenario: A receiver that recovers gets what waited and is no longer limited
    Given a limited webhook with 50 deliveries that were never attempted
    When its receiver works again
    Then all of them arrive within 90 seconds, and new events are sent at once again

  Scenario: Retries never exceed the retry rate while other attempts may
    Given a webhook with the profile gateway and a receiver that was down
    When some 10 deliveries have failed and the others were held back
    Then all arrive, and no more than 5 are retried in any second

  Scenario: A receiver stops one message with a header
    When the receiver responds with 500 and webhook-delivery abort-message
    Then the delivery is dead with the reason receiver said stop, and the webhook stays active

  Scenario: A receiver disables its webhook with a header
    When the receiver responds with 503 and webhook-delivery disable
    Then the delivery is dead and the webhook is disabled
    And publishing to it by id is rejected, and none of its deliveries can be requeued

  Scenario: The header on a successful response changes nothing
    When the receiver responds with 200 and webhook-delivery disable
    Then the delivery is delivered and the webhook is active

  Scenario: A failed webhook with auto_resume is probed and resumes automatically
    Given a failed webhook with auto_resume and a waiting delivery
    When time passes
    Then probes are sent after 1, 2 and 4 minutes, and nothing else
    When a probe succeeds
    Then the webhook is resumed and the delivery arrives

  Scenario: A failed webhook without auto_resume is left alone
    Given a failed webhook without auto_resume
    When a day passes
    Then nothing is sent to it

  Scenario: Changes to schedule, timeout, rate and classifier apply from the next decision
    Given a delivery that failed and waits for its retry
    When the webhook's schedule, jitter, timeout, rate and classifier are changed
    Then the next attempt uses the new ones, without a restart
