# Send one delivery to another URL and compare the responses, without touching the row
Feature: Shadow requests

  Scenario: A shadow request changes no stored byte
    Given a dead delivery, a failed one and one that was delivered
    When each is sent to another URL
    Then that URL gets each body once, signed, and the webhook's URL gets nothing
    And every table is byte for byte unchanged: rows, attempts, counters, rates, notifications
    When the failed one is due
    Then it is attempted as if nothing had happened

  Scenario: A shadow request obeys the egress rules
    Given a dead delivery
    When it is sent to a private, a loopback and a metadata address, by name and by number
    Then each is rejected as an error in the field url, and nothing is sent

  Scenario: A shadow request needs the secrets of its webhook
    Given a dead delivery whose webhook was deleted
    When it is sent to another URL
    Then it is rejected because it cannot be signed, and nothing is sent

  Scenario: A shadow request of a paused webhook is sent at once
    Given a delivery of a paused webhook
    When it is sent to another URL
    Then that URL gets it, and the delivery keeps waiting
