// A gateway in use: deliveries that arrived, are retried or are dead, and a failed webhook.
import { github } from "./sender.mjs";
import { until } from "./stage.mjs";

/** Fills an empty gateway; returns the objects to show. */
export async function populate(stage) {
  const good = await stage.receiver({ status: 200 });
  const bad = await stage.receiver({ status: 503, body: '{"error":"database is restarting, try again in a minute"}' });
  const picky = await stage.receiver({ status: 422, body: '{"field":"total","message":"must be a number"}' });
  const staging = await stage.receiver({ status: 200, body: '{"field":"total","message":"taken as 12.50"}', headers: { "content-type": "application/json" } });
  const shop = await stage.webhook(good.url, { name: "Shop backend", owner_email: "ops@example.com", headers: { "x-team": "checkout" } });
  const ledger = await stage.webhook(bad.url, { name: "Ledger", event_types: ["order.*", "refund.*"], retry: { profile: "standard", jitter_bps: 0, delays_seconds: [600, 3600, 7200] } });
  const crm = await stage.webhook(picky.url, { name: "CRM", event_types: ["customer.*"], retry: { profile: "standard" } });
  const legacy = await stage.webhook("http://127.0.0.1:9/legacy", { name: "Legacy ERP", retry: { profile: "custom", delays_seconds: [1], max_attempts: 2, on_exhausted: "fail-webhook" } });
  const paused = await stage.webhook(good.url, { name: "Newsletter", event_types: ["mail.*"] });

  for (const type of ["order.created", "order.paid", "order.packed", "order.shipped"]) await stage.publishMany(shop, 12, { type });
  await stage.count(shop, "delivered", 48);
  const failed = await stage.publish(legacy, { type: "order.exported", session_id: "export-7" });
  await stage.reaches(failed, "dead");
  await stage.api("POST", `/v1/webhooks/${paused.id}/pause`);
  await stage.publish(paused, { type: "mail.sent" });
  for (const [n, type] of ["customer.created", "customer.changed", "customer.merged"].entries()) {
    await stage.publish(crm, { type, session_id: `crm-${n}`, payload: { customer: { name: "Ada Lovelace", tags: ["new", "vip"] }, total: "12,50" } });
  }
  await stage.count(crm, "dead", 3);
  const retried = [];
  for (const type of ["order.paid", "refund.issued", "order.shipped", "order.cancelled"]) {
    retried.push(await stage.publish(ledger, { type, session_id: "checkout-42" }));
  }
  for (const id of retried) await stage.reaches(id, "failed");
  await stage.publish(shop, { type: "order.paid", session_id: "checkout-42" });
  const source = await stage.api("POST", "/v1/sources", {
    name: "GitHub", scheme: "github", secret: "a secret of some length",
    routes: [{ event_type: "pull_request.*", intent: "review", target_session: "ci", webhook_id: shop.id }, { event_type: "push", intent: "build", webhook_id: ledger.id }],
  });
  const address = `${stage.calls}${source.url}`;
  const push = '{"ref":"refs/heads/main","commits":[]}';
  await github(address, "a secret of some length", push);
  await github(address, "another secret", push);
  await github(address, "a secret of some length", push, { sent: JSON.stringify(JSON.parse(push), null, 2) });
  const [rejected] = (await stage.api("GET", `/v1/sources/${source.id}/refused`)).items;
  await stage.key("dashboard", ["read"]);
  await stage.key("shop", ["publish"]);
  const delivered = (await stage.api("GET", `/v1/deliveries?webhook_id=${shop.id}&limit=1`)).items[0].id;
  const dead = (await stage.api("GET", `/v1/deliveries?webhook_id=${crm.id}&limit=1`)).items[0].id;
  const event = (await stage.api("GET", `/v1/deliveries/${dead}`)).event_id;
  return { shop, ledger, crm, legacy, source, rejected, event, failed, retried: retried[0], delivered, dead, staging };
}

/** Event types, and a customer with deliveries; returns what to show of them. */
export async function customer(stage) {
  const schema = {
    type: "object", required: ["id", "total", "lines"],
    properties: {
      id: { type: "string", description: "Number of the order" },
      total: { type: "number", minimum: 0, description: "With taxes" },
      currency: { enum: ["EUR", "USD"] },
      lines: { type: "array", items: { type: "object", required: ["sku"], properties: { sku: { type: "string" }, count: { type: "integer" } } } },
    },
  };
  const example = { id: "A-7", total: 12.5, currency: "EUR", lines: [{ sku: "tea", count: 2 }] };
  const types = {
    "order.created": { group: "Orders", description: "A customer placed an order." },
    "order.paid": { group: "Orders", description: "An order was paid in full.\n\nIt is sent once per order.", schema, examples: [example] },
    "order.shipped": { group: "Orders", description: "All lines of an order left the warehouse." },
    "refund.issued": { group: "Refunds", description: "Money went back to the customer." },
    "refund.requested": { group: "Refunds", description: "Use refund.issued instead.", deprecated: true },
  };
  for (const [name, entry] of Object.entries(types)) await stage.api("PUT", `/v1/event-types/${name}`, entry);
  await stage.api("POST", "/v1/tenants", { id: stage.customer, name: "Globex", limits: { webhooks: 5, publish_rate: 50 } });
  const key = { name: "product", scopes: ["publish", "read", "manage"], tenant: stage.customer };
  const { token } = await stage.api("POST", "/v1/keys", key);
  const good = await stage.receiver({ status: 200 });
  const bad = await stage.receiver({ status: 500, body: '{"error":"column \\"vat\\" does not exist"}', headers: { "content-type": "application/json" } });
  const made = (name, target_url, more) => stage.api("POST", "/v1/webhooks", { name, target_url, event_types: ["order.*"], ...more }, token);
  const orders = await made("Order service", good.url);
  const retry = { profile: "custom", delays_seconds: [1], max_attempts: 2, on_exhausted: "dead-letter" };
  const webhook = await made("Accounting", bad.url, { event_types: ["order.paid", "refund.*"], retry, filter: { total: [{ numeric: [">", 10] }] } });
  for (const type of ["order.created", "order.paid", "order.shipped"]) {
    for (let n = 1; n <= 4; n += 1) await stage.api("POST", "/v1/events", { type, payload: { ...example, id: `A-${n}` }, webhook_id: orders.id }, token);
  }
  const { deliveries } = await stage.api("POST", "/v1/events", { type: "order.paid", payload: example, webhook_id: webhook.id }, token);
  const dead = deliveries[0].id;
  await until(async () => (await stage.api("GET", `/v1/deliveries/${dead}`, undefined, token)).status === "dead", "it is dead");
  return { webhook, dead };
}

/** Sends a shadow request; the page shows the result. */
export async function shadow(stage, page, id, url) {
  await stage.goto(page, `/inspector/deliveries/${id}/shadow`);
  await page.getByLabel("URL", { exact: true }).fill(url);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("heading", { name: "Other URL" }).first().waitFor();
}

/** Every page except those that follow a form. */
export function places({ shop, ledger, legacy, source, rejected, event, failed, retried, delivered, dead }) {
  return [
    "/inspector", "/inspector?window=31d", "/inspector/deliveries", "/inspector/deliveries?session_id=unknown", "/inspector/deliveries?status=lost",
    ...[failed, retried, delivered, dead].map((id) => `/inspector/deliveries/${id}`), `/inspector/deliveries/${dead}/shadow`, "/inspector/dead", "/inspector/dead/retry",
    "/inspector/webhooks", ...[shop, ledger, legacy].map(({ id }) => `/inspector/webhooks/${id}`), `/inspector/webhooks/${ledger.id}/edit`, "/inspector/webhooks/new",
    "/inspector/sources", `/inspector/sources/${source.id}`, `/inspector/sources/${source.id}/edit`, "/inspector/sources/new",
    `/inspector/sources/${source.id}/refused/${rejected.id}`, `/inspector/events/${event}`, "/inspector/keys", "/inspector/nowhere", "/inspector/search?q=unknown",
  ];
}
