// A customer, in a tenant of their own, with an operator who publishes for them.

import { request } from "node:http";
import { text } from "node:stream/consumers";
import { assert } from "./stage.mjs";

export const EVIL = `</script><img src=x onerror=alert(1)>"'><svg onload=alert(2)>`;

/** A key of the customer's tenant, for what the product does. */
export async function productKey(stage) {
  const key = { name: "product", scopes: ["publish", "read", "manage"], tenant: stage.customer };
  return (await stage.api("POST", "/v1/keys", key)).token;
}

/** A link to the portal. Its host is that of the request, so this calls the browser's; `fetch` cannot name another. */
export async function link(stage, more = {}) {
  const given = { tenant: stage.customer, expires_in_seconds: 300, ...more };
  const { hostname, port } = new URL(stage.calls);
  const headers = { host: new URL(stage.url).host, authorization: `Bearer ${stage.token}`, "content-type": "application/json" };
  const answer = await new Promise((got, failed) => {
    const call = request({ hostname, port, path: "/v1/portal-links", method: "POST", headers }, got);
    call.on("error", failed).end(JSON.stringify(given));
  });
  const created = await text(answer);
  assert.equal(answer.statusCode, 201, created);
  const { url } = JSON.parse(created);
  assert.equal(new URL(url).origin, stage.url);
  return url;
}

/** A page of the portal, or a frame with it: both have the same methods. */
export class Customer {
  constructor(stage, view, token) {
    Object.assign(this, { stage, view, token });
  }

  async go(name) {
    await this.view.getByRole("navigation", { name: "Main" }).getByRole("link", { name }).click();
    await this.view.getByRole("heading", { name, level: 1 }).waitFor();
  }

  /** Creates a webhook with the form; returns its secret. */
  async create(name, target) {
    await this.go("Webhooks");
    await this.view.getByRole("link", { name: "New webhook" }).click();
    await this.view.getByLabel("Name", { exact: true }).fill(name);
    await this.view.getByLabel("URL", { exact: true }).fill(target);
    await this.view.getByLabel("Event types").fill("order.*");
    await this.view.getByRole("button", { name: "Create webhook" }).click();
    return this.view.locator("#secret").innerText();
  }

  async webhook() {
    const { items } = await this.stage.api("GET", "/v1/webhooks", undefined, this.token);
    assert.equal(items.length, 1);
    return items[0];
  }

  /** The product publishes an event; returns the delivery's id. */
  async publish(webhook, more = {}) {
    const event = { type: "order.paid", payload: { order: 7 }, webhook_id: webhook.id, ...more };
    return (await this.stage.api("POST", "/v1/events", event, this.token)).deliveries[0].id;
  }

  /** Waits for a failed delivery, reads why, has the receiver fixed, and retries it. */
  async fixAndRetry(receiver) {
    await this.go("Deliveries");
    await this.view.getByRole("link", { name: "order.paid" }).first().click();
    await this.view.getByRole("heading", { name: "order.paid" }).waitFor();
    await this.view.locator(".why").getByText("500").first().waitFor();
    receiver.answer = { status: 200 };
    await this.view.getByRole("button", { name: "Retry now" }).click();
    await this.view.locator("#state", { hasText: "Delivered" }).waitFor();
  }
}
