// Shared by the cases: the gateway's API, a receiver whose response can be changed, and a browser that records everything a
// page must not do.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const require = createRequire(new URL("../../.tools/browser/package.json", import.meta.url));
const { chromium } = require("playwright-core");

export const axePath = require.resolve("axe-core/axe.min.js");
/** The timeout of every step. */
export const PATIENCE = 60_000;

function browserPath() {
  const places = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "chromium"));
  const found = places.find((place) => {
    try { accessSync(place, constants.X_OK); return true; } catch { return false; }
  });
  assert(found, "chromium is missing: `make setup` installs it");
  return found;
}

/** Waits until `check` returns something; `what` describes it, as text or as a function. */
export async function until(check, what) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await check();
    if (found) return found;
    assert(Date.now() < end, `timed out waiting: ${typeof what === "function" ? what() : what}`);
    await new Promise((next) => setTimeout(next, 50));
  }
}

export class Stage {
  constructor(url, token, login, calls = url, customer = "acme") {
    Object.assign(this, { url, token, login, calls, customer, closing: [], noticed: [], friends: [] });
  }

  /** Calls the API and expects success. */
  async api(method, path, body, token = this.token) {
    const answer = await fetch(this.calls + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    assert(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  async key(name, scopes) {
    return (await this.api("POST", "/v1/keys", { name, scopes })).token;
  }

  /** A receiver on a free port; set `answer` to change its response. */
  async receiver(answer = { status: 200 }) {
    const receiver = { answer, requests: [] };
    const server = createServer((request, response) => {
      request.resume().on("end", () => {
        receiver.requests.push(request.headers);
        const { status, body = "", headers = {}, delay_ms = 0 } = receiver.answer;
        setTimeout(() => response.writeHead(status, headers).end(body), delay_ms);
      });
    });
    await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
    this.closing.push(() => { server.close(); server.closeAllConnections(); });
    receiver.url = `http://127.0.0.1:${server.address().port}/hooks/orders`;
    return receiver;
  }

  async webhook(target_url, more = {}) {
    return this.api("POST", "/v1/webhooks", { name: "Orders", target_url, event_types: ["order.*"], ...more });
  }

  /** Publishes for one webhook; returns the delivery's id. */
  async publish(webhook, more = {}) {
    const event = { type: "order.paid", payload: { order: 7, total: "12.50" }, webhook_id: webhook.id, ...more };
    return (await this.api("POST", "/v1/events", event)).deliveries[0].id;
  }

  /** Publishes many for one webhook. */
  async publishMany(webhook, count, more = {}) {
    for (let left = count; left > 0; left -= 100) {
      const event = (_, n) => ({ type: "order.paid", payload: { n }, webhook_id: webhook.id, ...more });
      await this.api("POST", "/v1/events", { events: Array.from({ length: Math.min(left, 100) }, event) });
    }
  }

  /** Waits until a delivery has this status; returns it. */
  async reaches(id, status) {
    const check = async () => {
      const row = await this.api("GET", `/v1/deliveries/${id}`);
      return row.status === status && row;
    };
    return until(check, `${id} is ${status}`);
  }

  /** Waits until this many deliveries of a webhook have this status. */
  async count(webhook, status, wanted) {
    const check = async () => {
      let [found, cursor] = [0, ""];
      do {
        const query = `status=${status}&webhook_id=${webhook.id}&limit=200${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
        const page = await this.api("GET", `/v1/deliveries?${query}`);
        found += page.items.length;
        cursor = page.next_cursor ?? "";
      } while (cursor);
      return found >= wanted;
    };
    return until(check, `${wanted} are ${status}`);
  }

  /** A page in a new browser profile. */
  async page(options = {}) {
    this.browser ??= await chromium.launch({ executablePath: browserPath(), args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, timezoneId: "UTC", locale: "en-GB", ...options });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    this.watch(page);
    return page;
  }

  /** Records script errors, policy violations, dialogs, and requests to other origins. */
  watch(page) {
    const note = (what) => this.noticed.push(`${page.url()}: ${what}`);
    page.on("pageerror", (error) => note(`error ${error}`));
    page.on("dialog", async (dialog) => { note(`dialog ${dialog.message()}`); await dialog.dismiss(); });
    page.on("console", (message) => {
      const text = message.text();
      if (message.type() === "error" && !text.startsWith("Failed to load resource")) note(text);
    });
    page.on("request", (request) => {
      if (![this.url, "data:", ...this.friends].some((known) => request.url().startsWith(known))) note(`request to ${request.url()}`);
    });
  }

  async goto(page, path) {
    const answer = await page.goto(this.url + path);
    return answer;
  }

  /** A page with a session. */
  async inside(options = {}, token = this.token) {
    const page = await this.page(options);
    await this.goto(page, "/inspector/login");
    await page.getByLabel("API key").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    return page;
  }

  async close() {
    await this.browser?.close();
    for (const close of this.closing) close();
    assert.deepEqual(this.noticed, [], "a page did something it must not");
  }
}

export { assert };
