#!/usr/bin/env node
// Run by `make screenshots` as `node tests/inspector/screenshots.mjs <the built command> <folder>`: screenshots of a
// gateway in use, in light, dark and phone width.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Gateway, TOKEN } from "./gateway.mjs";
import { Stage } from "./stage.mjs";
import { populate, shadow } from "./scene.mjs";

const LOOKS = [
  ["light", { colorScheme: "light", viewport: { width: 1280, height: 900 } }],
  ["dark", { colorScheme: "dark", viewport: { width: 1280, height: 900 } }],
  ["phone", { colorScheme: "light", viewport: { width: 390, height: 844 }, deviceScaleFactor: 1.5 }],
];

const [command, folder, ...wanted] = process.argv.slice(2);
const gateway = new Gateway(command);
const stage = new Stage(await gateway.start(), TOKEN);
try {
  const scene = await populate(stage);
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
  };
  // Pages that follow a form.
  const acts = { shadow: (page) => shadow(stage, page, scene.dead, scene.staging.url) };
  const names = wanted.length ? wanted : ["overview", "delivery", "shadow", "dead", "webhook", "source"];
  mkdirSync(folder, { recursive: true });
  for (const [look, options] of LOOKS) {
    const page = await stage.inside(options);
    for (const name of names) {
      await (acts[name] ? acts[name](page) : stage.goto(page, pages[name]));
      if (await page.locator("[data-live]").count()) await page.locator("#live.on").waitFor();
      await page.screenshot({ path: join(folder, `${name}-${look}.png`) });
    }
  }
} finally {
  await stage.close();
  await gateway.remove();
}
