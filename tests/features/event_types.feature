# The event catalogue says what payloads look like, and the gateway checks them
Feature: Payloads checked against the event catalogue

  Scenario: An event that does not match its schema is rejected with the place of each fault
    Given a gateway that rejects such events and an event type with a schema
    When an event is published whose payload has two faults
    Then it is rejected with the JSON pointer of each, and without the payload's values
    And nothing is stored
    And events of other types, and those that match, are accepted

  Scenario: With a warning only, every event is accepted
    Given a gateway that only warns
    When an event is published that does not match its schema
    Then it is stored and delivered

  Scenario: An event type of a tenant takes the place of one of the operator
    Given an event type of the operator, and another of the same name of a tenant
    When that tenant and another one publish
    Then the first is checked against its own schema, the second against the operator's

  Scenario: A corrected schema applies to the next event
    Given an event that was rejected
    When the schema is corrected
    Then the same event is accepted
    And when the event type is deleted, everything is accepted

  Scenario: Schemas are not read for each event
    Given an event that was checked
    When the schemas disappear from the database without a change of version
    Then the next event is still checked

  Scenario: A repeated call gets the answer of the first one
    Given an event that was accepted with an idempotency key
    When the schema has changed and the call is repeated
    Then it gets the same answer

  Scenario: An event from a source is never rejected for its schema
    Given a gateway that rejects events and a source
    When the source sends an event that does not match its schema
    Then it is stored

  Scenario: An example is sent to one webhook as a test
    Given an event type with an example that does not match its schema
    When the example is sent to a webhook that does not subscribe to the type
    Then the webhook gets it
