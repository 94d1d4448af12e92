#!/usr/bin/env node
// Run by `make screenshots` as `node tests/inspector/screenshots.mjs <the built command> <folder>`: pictures of a gateway
// in the middle of its day, in light, dark and as wide as a phone.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Stage } from "./stage.mjs";
import { populate, shadow } from "./scene.mjs";

const TOKEN = "a-token-of-more-than-32-characters-for-pictures";
const LOOKS = [
  ["light", { colorScheme: "light", viewport: { width: 1280, height: 900 } }],
  ["dark", { colorScheme: "dark", viewport: { width: 1280, height: 900 } }],
  ["phone", { colorScheme: "light", viewport: { width: 390, height: 844 }, deviceScaleFactor: 1.5 }],
];

const [command, folder, ...wanted] = process.argv.slice(2);
const data = mkdtempSync(join(tmpdir(), "postrider-"));
const env = { POSTRIDER_ADMIN_TOKEN: TOKEN, POSTRIDER_EGRESS_ALLOW: "127.0.0.1/32", POSTRIDER_LOG: "warn" };
const gateway = spawn(command, ["serve", "--listen", "127.0.0.1:0", "--data", data], { env, stdio: ["ignore", "pipe", "inherit"] });
const first = await new Promise((said) => createInterface(gateway.stdout).once("line", said));
const stage = new Stage(first.split(" ").at(-1), TOKEN);
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
    keys: "/inspector/keys",
  };
  // Those that follow upon a form.
  const acts = { shadow: (page) => shadow(stage, page, scene.dead, scene.staging.url) };
  const names = wanted.length ? wanted : ["overview", "delivery", "shadow", "dead", "webhook"];
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
  gateway.kill();
  await new Promise((ended) => gateway.once("exit", ended));
  rmSync(data, { recursive: true });
}
