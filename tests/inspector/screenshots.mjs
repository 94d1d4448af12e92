#!/usr/bin/env node
// Run by `make screenshots` as `node tests/inspector/screenshots.mjs <the built command> <folder>`: screenshots of a
// gateway in use, in light, dark and phone width.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Gateway, TOKEN } from "./gateway.mjs";
import { Stage } from "./stage.mjs";
import { link } from "./portal.mjs";
import { customer, populate, shadow } from "./scene.mjs";

const LOOKS = [
  ["light", { colorScheme: "light", viewport: { width: 1280, height: 900 } }],
  ["dark", { colorScheme: "dark", viewport: { width: 1280, height: 900 } }],
  ["phone", { colorScheme: "light", viewport: { width: 390, height: 844 }, deviceScaleFactor: 1.5 }],
];

const [command, folder, ...wanted] = process.argv.slice(2);
const gateway = new Gateway(command, { POSTRIDER_PORTAL_NAME: "Acme Shop", POSTRIDER_PORTAL_COLOR: "#0b7a53" });
const stage = new Stage(await gateway.start(), TOKEN);
try {
  const [scene, theirs] = [await populate(stage), await customer(stage)];
  const pages = {
    overview: "/inspector",
    deliveries: "/inspector/deliveries",
    delivery: `/inspector/deliveries/${scene.dead}`,
    dead: "/inspector/dead",
    webhooks: "/inspector/webhooks",
    webhook: `/inspector/webhooks/${scene.ledger.id}`,
    edit: `/inspector/webhooks/${scene.ledger.id}/edit`,
    source: `/inspector/sources/${scene.source.id}`,
    rejected: `/inspector/sources/${scene.source.id}/refused/${scene.rejected.id}`,
    sourceform: `/inspector/sources/${scene.source.id}/edit`,
    event: `/inspector/events/${scene.event}`,
    lost: "/inspector/nowhere",
    nothing: "/inspector/search?q=unknown",
    sources: "/inspector/sources",
    keys: "/inspector/keys",
    types: "/inspector/event-types",
    type: "/inspector/event-types/order.paid",
    typeform: "/inspector/event-types/order.paid/edit",
    usage: "/inspector/usage",
    tenant: "/inspector/usage?tenant=acme",
  };
  // Pages of the portal.
  const portal = {
    portal: `/portal/deliveries/${theirs.dead}`,
    portalwebhooks: "/portal/webhooks",
    portalwebhook: `/portal/webhooks/${theirs.webhook.id}`,
    portalform: "/portal/webhooks/new",
    portaldeliveries: "/portal/deliveries",
    portaldead: "/portal/dead",
    portaltypes: "/portal/event-types",
    portaltype: "/portal/event-types/order.paid",
    portalusage: "/portal/usage",
  };
  // Pages that follow a form.
  const acts = { shadow: (page) => shadow(stage, page, scene.dead, scene.staging.url) };
  const names = wanted.length ? wanted : ["overview", "delivery", "shadow", "dead", "webhook", "source", "portal"];
  mkdirSync(folder, { recursive: true });
  for (const [look, options] of LOOKS) {
    const inspector = await stage.inside(options);
    const customers = await stage.page(options);
    await customers.goto(await link(stage, { return_url: "https://shop.example/settings" }));
    await customers.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor();
    for (const name of names) {
      const page = portal[name] ? customers : inspector;
      await (acts[name] ? acts[name](page) : stage.goto(page, portal[name] ?? pages[name]));
      if (await page.locator("[data-live]").count()) await page.locator("#live.on").waitFor();
      await page.screenshot({ path: join(folder, `${name}-${look}.png`) });
    }
  }
} finally {
  await stage.close();
  await gateway.remove();
}
