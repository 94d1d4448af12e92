#!/usr/bin/env node
// Run by `make screenshots`: pictures of the pages that docs/ shows, in light, dark and as wide as a phone.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Stage } from "./stage.mjs";
import { populate } from "./scene.mjs";

const [url, token, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const stage = new Stage(url, token);
try {
  const scene = await populate(stage);
  const pages = {
    overview: "/inspector", deliveries: "/inspector/deliveries", delivery: `/inspector/deliveries/${scene.dead}`, retried: `/inspector/deliveries/${scene.retried}`,
    dead: "/inspector/dead", "dead-retry": "/inspector/dead/retry", webhooks: "/inspector/webhooks", webhook: `/inspector/webhooks/${scene.legacy.id}`,
    "webhook-edit": `/inspector/webhooks/${scene.ledger.id}/edit`, source: `/inspector/sources/${scene.source.id}`, keys: "/inspector/keys",
  };
  const looks = [["light", 1280, 900], ["dark", 1280, 900], ["phone", 390, 844]];
  for (const [look, width, height] of looks) {
    const page = await stage.inside({ colorScheme: look === "dark" ? "dark" : "light", viewport: { width, height }, deviceScaleFactor: look === "phone" ? 2 : 1 });
    for (const [name, path] of Object.entries(pages)) {
      await stage.goto(page, path);
      await page.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: process.env.FULL === "1" });
    }
  }
  const outside = await stage.page();
  await stage.goto(outside, "/inspector/login");
  await outside.screenshot({ path: join(folder, "login-light.png") });
} finally {
  await stage.close();
}
