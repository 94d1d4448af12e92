// Publishes an event. A repeated call with the same Idempotency-Key stores nothing new.
const { POSTRIDER_URL, POSTRIDER_TOKEN } = process.env;
const response = await fetch(`${POSTRIDER_URL}/v1/events`, {
  method: "POST",
  headers: {
    Authorization: `Bearer ${POSTRIDER_TOKEN}`,
    "Content-Type": "application/json",
    "Idempotency-Key": "order-3",
  },
  body: JSON.stringify({ type: "order.paid", payload: { order: 3 } }),
});
if (!response.ok) throw new Error(await response.text());
console.log(await response.text());
