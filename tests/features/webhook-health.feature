# DESIGN 9 and 11: a receiver that is in trouble is spared, and brought back gently
Feature: A webhook's health follows its receiver, and people are told once

  Scenario: A webhook degrades, fails, is resumed and is well again
    Given a webhook of the profile public-api whose receiver goes down
    When its deliveries fail, and one is exhausted
    Then it was degraded at the third failure, then failed, and each was announced once
    When its receiver is well again and a person resumes it
    Then all that waited arrives, and it is active at its full rate

  Scenario: What waited goes out slowly at first and never faster than the retry rate
    Given a webhook with a retry_rate of 8 and 60 deliveries that wait
    When it is resumed and its receiver is well
    Then the first seconds see one delivery each and later ones more, none more than 8
    And all 60 arrive

  Scenario: A resumed webhook whose receiver is still down fails again and nobody is told twice
    Given a failed webhook with 6 deliveries that wait
    When it is resumed and the first 3 attempts fail
    Then it is failed again, and the announcement says that it is not the first time
    And the others wait as before

  Scenario: A single success after a resume ends the probation
    Given a failed webhook that was resumed
    When the first attempt arrives and the next 3 fail
    Then it is active and degraded

  Scenario: A receiver that answers 429 is slowed down and sped up again
    Given a webhook with a retry_rate of 8
    When its receiver answers 429, and a second later again
    Then it gets 4 attempts a second, then 2
    When it is well again
    Then it gets 8 attempts a second within some seconds

  Scenario: Server unavailable and timeouts slow a receiver down and other errors do not
    When the receiver answers 503, or not in time
    Then its rate is halved
    When the receiver answers 500
    Then its rate stays as it is

  Scenario: While a webhook is slowed down first attempts take turns too
    Given a webhook whose rate was halved to 2
    When 10 events are published at once
    Then no second sees more of them than the rate of that second

  Scenario: Rows that find no turn are set aside and none is forgotten
    Given 100 deliveries of one webhook that failed in the same second and a retry_rate of 5
    When they are due
    Then no second sees more than 5 of them, and all arrive

  Scenario: A receiver stops one message by a header
    When the receiver answers 500 with webhook-delivery abort-message
    Then the delivery is dead with the reason receiver said stop, and the webhook goes on

  Scenario: A receiver disables its webhook by a header
    When the receiver answers 503 with webhook-delivery disable
    Then the delivery is dead and the webhook is disabled
    And naming it is refused, and nothing of it can be put back

  Scenario: The header of a delivered answer changes nothing
    When the receiver answers 200 with webhook-delivery disable
    Then the delivery is delivered and the webhook is active

  Scenario: A failed webhook with auto_resume is tested and resumes by itself
    Given a failed webhook with auto_resume and a delivery that waits
    When time passes
    Then test events are sent after 1, 2 and 4 minutes, and nothing else
    When the receiver answers a test with success
    Then the webhook is resumed and the delivery arrives

  Scenario: A failed webhook without auto_resume is left alone
    Given a failed webhook without auto_resume
    When a day passes
    Then nothing is sent to it

  Scenario: A changed schedule, timeout, rate and classifier are valid from the next decision on
    Given a delivery that failed and waits for its retry
    When the webhook's schedule, jitter, timeout, rate and classifier are changed
    Then the next attempt goes by the new ones, without a restart
