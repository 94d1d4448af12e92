# ADR-020, inbound: what senders and receivers can rely on
Feature: Receiving signed webhooks

  Scenario: A signed request is routed to the receiver
    Given a source whose route sends pull_request events to a webhook as code_review for reviewer-cluster
    When its sender posts a signed pull_request.opened
    Then the receiver gets the same bytes with that intent, session and type

  Scenario: A forged request is rejected and not delivered
    Given a source with a route
    When a request arrives whose signature does not match its body
    Then it is rejected, nothing is stored and nothing is sent

  Scenario: A repeated inbound delivery returns the first ids
    Given a source with a route, and an accepted delivery from its sender
    When the sender posts it again because the response was lost, after the gateway was restarted
    Then the response has the first ids, and the receiver gets it once

  Scenario: Each webhook gets an event once by its first matching route
    Given a source with two routes to one webhook and a third to another
    When an event arrives that matches all three
    Then each webhook gets it once, with the intent of its first route

  Scenario: A route with a filter takes only the events that it matches
    Given a source with two routes to one webhook, each with a filter
    When an event arrives that only the second filter matches
    Then the webhook gets it once, with the intent of the second route

  Scenario: Verification handshakes are answered
    Given sources of Slack, Zoom, Meta and Discord
    When each sender verifies the address in its own way
    Then it gets the response it expects, and no event is stored

  Scenario: A forged handshake is rejected
    Given sources of Slack, Zoom, Meta and Discord
    When another party sends the same handshake
    Then it is rejected like any forged request

  Scenario: A rejected request shows what would have matched
    Given a source whose secret was rotated two days ago
    When its sender still signs with the old one
    Then the request is rejected, stored for its owner, and diagnosed as signed with an old secret
    And inbound.signature_failed is sent with the reason, and without the contents of the request

  Scenario: An event without a matching route triggers a notification
    Given a source with a route for other events
    When its sender posts a signed event
    Then it is stored, and inbound.unrouted is sent
    And an event with a matching route triggers inbound.accepted, once even if it is repeated
