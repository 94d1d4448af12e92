#!/bin/sh
# Publishes an event with curl. A repeated call with the same Idempotency-Key stores nothing new.
curl --fail-with-body --silent --show-error "$POSTRIDER_URL/v1/events" \
  --header "Authorization: Bearer $POSTRIDER_TOKEN" \
  --header 'Content-Type: application/json' \
  --header 'Idempotency-Key: order-1' \
  --data '{"type": "order.paid", "payload": {"order": 1}}'
