# Issue 6: send one delivery to another URL and compare responses, without touching the row
Feature: Shadows

  Scenario: A shadow leaves every stored byte as it was
    Given a dead delivery, a failed one and one that was delivered
    When each is sent to another URL
    Then that URL gets each body once, signed, and the webhook's URL gets nothing
    And every table holds byte for byte what it held: rows, attempts, counters, pace, announcements
    When the failed one is due
    Then it is attempted as if nothing had happened

  Scenario: A shadow goes nowhere that a webhook could not
    Given a dead delivery
    When it is sent to a private, a loopback and a metadata address, by name and by number
    Then each is refused under the field url, and nothing is sent

  Scenario: A shadow needs the secrets of its webhook
    Given a dead delivery whose webhook was deleted
    When it is sent to another URL
    Then it is refused because nobody can sign it, and nothing is sent

  Scenario: A shadow of a paused webhook goes out at once
    Given a delivery that waits for a paused webhook
    When it is sent to another URL
    Then that URL gets it, and the delivery waits on
