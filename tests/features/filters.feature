# A filter selects events by their payload
Feature: Webhooks with a filter

  Scenario: A webhook gets only the events that its filter matches
    Given a webhook for orders above 100 and one for all orders
    When an order of 250 and one of 20 are published
    Then the first webhook gets one of them and the second gets both
    And the payload arrives byte for byte

  Scenario: A body that is not JSON never matches a filter
    Given a webhook with a filter and one without
    When an event whose body is plain text is published
    Then only the webhook without a filter gets it

  Scenario: An event that names a webhook must match its filter
    Given a webhook with a filter
    When an event that names it is published and does not match
    Then the event is stored without a delivery
    When an operator sends the webhook a test event
    Then it is delivered

  Scenario: A changed filter applies to the next event
    Given a webhook whose filter does not match
    When its filter is removed and the next event is published
    Then it gets that event and not the one before

  Scenario: A filter is tried on the last events before it is saved
    Given events of several types and payloads
    When a filter is tried on them
    Then each event is shown with what keeps it from matching
