# A customer opens the portal with a link
Feature: Links to the portal

  Scenario: A portal link works once
    Given a link to the portal of a tenant
    When two customers open it at the same time
    Then one of them is let in, for that tenant and with the rights of the link
    And the link is of no use to anyone after that

  Scenario: A portal link expires
    Given a link that is valid for five minutes
    When it is opened after five minutes
    Then it does not let anyone in

  Scenario: A portal link is short lived
    When a link for less than a minute or more than a day is requested
    Then it is refused with the limits
