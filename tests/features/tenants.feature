# An operator limits what a tenant may use, and sees what it used
Feature: Tenants with limits

  Scenario: A tenant is held to its publish rate
    Given a tenant that may publish 2 events per second
    When it publishes 3 events at once
    Then the third is refused and not stored
    And it is accepted half a second later

  Scenario: A payload over the limit of the tenant is refused
    Given a tenant whose payloads may have 10 bytes
    When it publishes a payload of 11 bytes
    Then the event is refused, and the limit is named
    And a payload of 10 bytes is delivered

  Scenario: A tenant has only as many webhooks as it may
    Given a tenant that may have 1 webhook and has it
    When it creates another one
    Then that is refused, and the limit is named
    And nothing has changed

  Scenario: A changed limit applies to the next event
    Given a tenant without limits that has published an event
    When the operator limits its payloads to 10 bytes
    Then the next larger event is refused
    When the operator removes the limit
    Then it is accepted

  Scenario: The usage of a tenant is counted per day
    Given a tenant that publishes one event today and two tomorrow
    When the receiver answers the first one with an error and accepts it later
    Then each day counts its events, deliveries, attempts and bytes
