#!/usr/bin/env node
// Run by `make picture` as `node tests/inspector/picture.mjs <the built command> <file> [<folder for the frames>]`: a GIF
// of an event that is published, fails, is explained, retried and delivered.

import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Film, LAYOUT } from "./film.mjs";
import { Gateway, TOKEN } from "./gateway.mjs";
import { gif } from "./gif.mjs";
import { Stage } from "./stage.mjs";

/** Long enough to see the delivery being attempted. */
const RESPONSE_MS = 1_500;
const TYPE = "order.paid";
const PAYLOAD = '{"order":1042,"total":"49.00"}';

const [command, file, folder] = process.argv.slice(2);
const gateway = new Gateway(command);
const stage = new Stage(await gateway.start(), TOKEN);
try {
  const receiver = await stage.receiver({ status: 500, body: "database is locked", delay_ms: RESPONSE_MS });
  await earlier(stage);
  await stage.webhook(receiver.url, { name: "Billing", event_types: ["order.paid"], retry: { profile: "custom", delays_seconds: [300, 1800, 7200], jitter_bps: 0 } });
  const film = await Film.of(await stage.inside(LAYOUT), await stage.page());
  await play(film, receiver);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, gif(film.frames));
  if (folder) keep(film.frames, folder);
} finally {
  await stage.close();
  await gateway.remove();
}

/** Deliveries that arrived before. */
async function earlier(stage) {
  const well = await stage.receiver({ status: 200, body: "stored", delay_ms: 20 });
  const warehouse = await stage.webhook(well.url, { name: "Warehouse", event_types: ["order.created"] });
  const crm = await stage.webhook(well.url, { name: "CRM", event_types: ["customer.*"] });
  const deliveries = [[warehouse, "order.created"], [crm, "customer.updated"], [warehouse, "order.created"]];
  for (const [webhook, type] of deliveries) await stage.reaches(await stage.publish(webhook, { type }), "delivered");
}

async function play(film, receiver) {
  const { page } = film;
  await stage.goto(page, "/inspector/deliveries");
  await page.locator("#live.on").waitFor();
  const row = page.locator("tbody tr", { hasText: TYPE });

  film.caption(1, "Publish an event");
  await film.look(900);
  await film.type(`postrider send ${TYPE} '${PAYLOAD}'`);
  film.print(await send());
  await film.frame(900);

  film.caption(2, "The receiver answers 500");
  await row.locator(".pill.failed").waitFor();
  await film.look(2_400);
  film.shown.terminal = "";
  await film.click(row.locator("a.open"));

  film.caption(3, "See why it failed and what to do");
  await page.locator(".why").waitFor();
  await film.look(3_000);
  await film.point(page.locator(".timeline .step pre"));
  await film.frame(1_400);

  receiver.answer = { status: 200, body: '{"ok":true}', delay_ms: RESPONSE_MS };
  film.caption(4, "The receiver is fixed: retry now");
  await film.click(page.getByRole("button", { name: "Retry now" }));
  await page.getByText("The delivery is pending and due now").waitFor();
  await film.look(1_200);

  film.caption(5, "Delivered. Every attempt stays on record");
  await page.locator("#state", { hasText: "Delivered" }).waitFor();
  await film.look(4_000);
}

/** Publishes with the command, as in the terminal; returns the first line that it prints. */
async function send() {
  const env = { POSTRIDER_URL: stage.url, POSTRIDER_TOKEN: TOKEN };
  const { stdout } = await promisify(execFile)(command, ["send", TYPE, PAYLOAD], { env });
  return stdout.split("\n")[0];
}

function keep(frames, folder) {
  mkdirSync(folder, { recursive: true });
  for (const [n, { png }] of frames.entries()) writeFileSync(join(folder, `${String(n).padStart(3, "0")}.png`), png);
}
