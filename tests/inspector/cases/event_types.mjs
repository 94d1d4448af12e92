// The event catalogue: described by form, seen by operators, customers and everyone, with an example sent as a test.
import { assert, until } from "../stage.mjs";
import { LOOKS, overflowOf, violationsOf } from "../axe.mjs";
import { Customer, EVIL, link, productKey } from "../portal.mjs";

const SCHEMA = {
  type: "object", required: ["id", "lines"],
  properties: {
    id: { type: "string", description: "Number of the order" },
    total: { type: "number", minimum: 0 },
    lines: { type: "array", items: { $ref: "#/$defs/line" } },
  },
  $defs: { line: { type: "object", required: ["sku"], properties: { sku: { type: "string" }, count: { type: "integer" } } } },
};
const EXAMPLE = { id: "A-7", total: 12.5, lines: [{ sku: "tea", count: 2 }] };
const HOSTILE = {
  description: EVIL, group: EVIL, schema: { properties: { [EVIL]: { type: "string", description: EVIL, const: EVIL } } }, examples: [{ [EVIL]: EVIL }], deprecated: true,
};

/** What axe and a ruler find. */
async function check(page, path, found) {
  for (const [scheme, width] of LOOKS) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 900 });
    for (const violation of await violationsOf(page)) found.push(`${path} in ${scheme}, ${width} wide: ${violation}`);
    if (await overflowOf(page) > 0) found.push(`${path} is wider than ${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  assert.equal(await page.locator("main img, main script, main [onload]").count(), 0, `markup on ${path}`);
}

async function describe(stage, page) {
  await stage.goto(page, "/inspector/event-types");
  await page.getByText("No event types yet").waitFor();
  await page.getByRole("link", { name: "New event type" }).click();
  await page.getByLabel("Name", { exact: true }).fill("order.paid");
  await page.getByLabel("Group").fill("Orders");
  await page.getByLabel("Description").fill("An order was paid in full.\n\nIt is sent once per order.");
  const schema = page.getByLabel("JSON Schema");
  await schema.fill('{"type": "objct"}');
  await page.getByLabel("Example 1").fill(JSON.stringify(EXAMPLE));
  await page.getByRole("button", { name: "Create event type" }).click();
  await page.getByRole("alert").getByText("at /type: must be one of").waitFor();
  assert.equal(await schema.getAttribute("aria-invalid"), "true");
  assert.equal(await page.getByLabel("Group").inputValue(), "Orders");
  await schema.fill(JSON.stringify(SCHEMA));
  await page.getByRole("button", { name: "Create event type" }).click();
  await page.getByText("Saved.").waitFor();
  const stored = await stage.api("GET", "/v1/event-types/order.paid");
  assert.deepEqual([stored.schema, stored.examples, stored.group], [SCHEMA, [EXAMPLE], "Orders"]);
  // The fields of the schema, through its reference.
  const fields = page.getByRole("table", { name: "Fields of the payload" });
  const row = fields.getByRole("row", { name: "lines[].sku" });
  assert.match(await row.innerText(), /required\s+string/);
  assert.match(await fields.getByRole("row", { name: /^id/ }).innerText(), /Number of the order/);
  assert.equal(await page.getByText("does not match the schema").count(), 0);

  // An example that does not match is pointed out.
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Example 2").fill('{"id": 7, "lines": []}');
  await page.getByLabel("State").selectOption("deprecated");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("This example does not match the schema").waitFor();
  await page.locator(".faults").getByText("must be a string").waitFor();
  await page.locator("h1 .pill", { hasText: "Deprecated" }).waitFor();
}

/** A customer's payload that does not match is accepted, and its page says so. */
async function warn(stage, token) {
  const event = await stage.api("POST", "/v1/events", { type: "order.paid", payload: { id: "A-7", lines: [{ sku: 7 }] } }, token);
  const page = await stage.inside({}, token);
  await stage.goto(page, `/inspector/events/${event.id}`);
  await page.locator("#faults").getByText("/lines/0/sku").waitFor();
  await page.getByRole("link", { name: "order.paid" }).click();
  await page.getByRole("heading", { name: "order.paid", level: 1 }).waitFor();
}

async function customer(stage, token, found) {
  const receiver = await stage.receiver();
  await stage.api("POST", "/v1/webhooks", { name: EVIL, target_url: receiver.url, event_types: ["other.*"] }, token);
  await stage.api("PUT", "/v1/event-types/acme.hostile", HOSTILE, token);
  const page = await stage.page({ bypassCSP: true });
  await page.goto(await link(stage));
  const customer = new Customer(stage, page, token);
  await customer.go("Event types");
  await check(page, "the portal's list", found);
  assert.equal(await page.getByRole("link", { name: "New event type" }).count(), 0);
  await page.getByRole("link", { name: "acme.hostile" }).click();
  await page.getByRole("heading", { name: "acme.hostile" }).waitFor();
  await check(page, "the portal's hostile page", found);
  await customer.go("Event types");
  await page.getByRole("link", { name: "order.paid" }).click();
  await check(page, "the portal's page", found);
  await page.getByRole("button", { name: "Send example" }).first().click();
  await page.getByRole("heading", { name: "order.paid" }).waitFor();
  await page.locator("#state", { hasText: "Delivered" }).waitFor();
  assert.equal(receiver.requests.length, 1);
  assert.equal(receiver.requests[0]["x-webhook-event"], "order.paid");
}

async function everyone(stage, found) {
  const page = await stage.page({ bypassCSP: true });
  await stage.goto(page, "/event-types");
  await page.getByRole("link", { name: "Acme & Sons" }).waitFor();
  assert.equal(await page.getByText("acme.hostile").count(), 0, "entries of a tenant");
  assert.equal(await page.getByText("order.lost").count(), 0, "archived");
  await check(page, "the public list", found);
  await page.getByRole("link", { name: "order.paid" }).click();
  await page.getByRole("heading", { name: "order.paid", level: 1 }).waitFor();
  assert.equal(await page.getByRole("button", { name: /Send|Log out/ }).count(), 0);
  await check(page, "the public page", found);
  const { items } = await (await fetch(`${stage.calls}/event-types.json`)).json();
  assert.deepEqual(items.map(({ name }) => name), ["operators.hostile", "order.paid"]);
}

export default async function (stage) {
  const found = [];
  const page = await stage.inside({ bypassCSP: true });
  await describe(stage, page);
  const token = await productKey(stage);
  await warn(stage, token);
  await stage.api("PUT", "/v1/event-types/operators.hostile", HOSTILE);
  await stage.api("PUT", "/v1/event-types/order.lost", { archived: true });
  const pages = ["/event-types", "/event-types/order.paid", "/event-types/order.paid/edit", "/event-types/operators.hostile", "/event-types/operators.hostile/edit", "/new-event-type"];
  for (const path of pages) {
    await stage.goto(page, `/inspector${path}`);
    await check(page, path, found);
  }
  await customer(stage, token, found);
  await everyone(stage, found);

  // Deleted by form, after a question.
  await stage.goto(page, "/inspector/event-types/order.lost");
  await page.getByText("Delete…").click();
  await page.getByRole("button", { name: "Delete event type" }).click();
  await page.getByText("Event type deleted.").waitFor();
  await until(async () => (await stage.api("GET", "/v1/event-types")).items.every(({ name }) => name !== "order.lost"), "it is gone");
  assert.deepEqual(found, []);
}
