# ADR-020 and DESIGN 12: what senders and receivers may count on
Feature: Receiving signed webhooks

  Scenario: A signed request is routed through to the receiver
    Given a source whose route sends pull_request events to a webhook as code_review for reviewer-cluster
    When its sender posts a signed pull_request.opened
    Then the receiver gets the same bytes with that intent, session and type

  Scenario: A forged request reaches nobody
    Given a source with a route
    When a request comes whose signature does not match its body
    Then it is refused, nothing is stored and nothing is sent

  Scenario: A sender that repeats a delivery is answered with the first one
    Given a source with a route, and a delivery of it that was accepted
    When the sender posts it again because the answer was lost, after the gateway was restarted
    Then it is answered with the first ids, and the receiver has it once

  Scenario: A route decides for each webhook once
    Given a source with two routes to one webhook and a third to another
    When an event comes that all three match
    Then each webhook gets it once, with the intent of its first route

  Scenario: A sender that asks before it sends is answered
    Given sources of Slack, Zoom, Meta and Discord
    When each asks in its own way whether the address is its owner's
    Then it gets the answer that it waits for, and no event is stored

  Scenario: A question that its sender did not ask is refused
    Given sources of Slack, Zoom, Meta and Discord
    When somebody else asks the same
    Then it is refused as any forged request

  Scenario: A refused request says what would have matched
    Given a source whose secret was rotated two days ago
    When its sender still signs with the old one
    Then the request is refused, kept for its owner, and said to be signed with an old secret
    And inbound.signature_failed is announced with the reason, and without what the request held

  Scenario: An event that no route wants is announced
    Given a source with a route for other events
    When its sender posts a signed event
    Then it is stored, and inbound.unrouted is announced
    And an event that a route wants is announced as inbound.accepted, once though it is repeated
