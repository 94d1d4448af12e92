# A template turns an event into what its receiver expects
Feature: Webhooks with a template

  Scenario: A template is rendered at the attempt and signed as sent
    Given a webhook with a template for body, content type and query, and one without
    When an event is published
    Then the first receiver gets what the template renders, signed over those bytes
    And the second receiver gets the event byte for byte

  Scenario: A template that cannot be rendered ends the delivery and not the webhook
    Given a webhook whose template needs a field
    When events without that field and an event that is not JSON are published
    Then their deliveries are dead, with the line and the reason, and nothing was sent
    And the webhook is still healthy
    When the template is fixed and a delivery is retried
    Then it is delivered

  Scenario: A retry is rendered with the template of its time
    Given a delivery whose first attempt failed
    When the template of its webhook is changed
    Then the next attempt sends what the new template renders

  Scenario: A template that does not compile is refused
    When a webhook is created with a template that does not compile
    Then the error names the field, the line and the reason

  Scenario: A shadow request and a test event send what the template renders
    Given a webhook with a template
    When its delivery is sent to another URL
    Then that receiver gets what the template renders
    When an operator sends the webhook a test event
    Then it is rendered, too

  Scenario: A template is tried on the last event before it is saved
    Given events of several types
    When a template is tried on the last event of one type
    Then what would be sent is shown, or why it cannot be rendered
