# A failing receiver gets less load and is brought back gradually
Feature: A webhook's health follows its receiver, and its owner is notified once

  Scenario: A webhook degrades, fails, is resumed and recovers
    Given a webhook with the profile public-api whose receiver goes down
    When its deliveries fail, and one is exhausted
    Then it was degraded at the third failure, then failed, and each was notified once
    When its receiver has recovered and an operator resumes it
    Then all waiting deliveries arrive, and it is active at its full rate

  Scenario: Waiting deliveries go out slowly at first and never faster than the retry rate
    Given a webhook with a retry_rate of 8 and 60 waiting deliveries
    When it is resumed and its receiver works
    Then one delivery goes out in each of the first seconds and more later, never more than 8 in a second
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

  Scenario: A receiver that answers 429 is slowed down and sped up again
    Given a webhook with a retry_rate of 8
    When its receiver responds with 429, and a second later again
    Then it gets 4 attempts per second, then 2
    When it has recovered
    Then it gets 8 attempts per second within a few seconds

  Scenario: Server unavailable and timeouts slow a receiver down and other errors do not
    When the receiver responds with 503, or not in time
    Then its rate is halved
    When the receiver responds with 500
    Then its rate does not change

  Scenario: While a webhook is slowed down first attempts are rate limited as well
    Given a webhook whose rate was halved to 2
    When 10 events are published at once
    Then no more of them are attempted in any second than its rate allows

  Scenario: Rows that wait for the rate limit are all delivered
    Given 100 deliveries of one webhook that failed in the same second and a retry_rate of 5
    When they are due
    Then no more than 5 are attempted in any second, and all arrive

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
