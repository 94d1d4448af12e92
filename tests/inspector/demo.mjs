#!/usr/bin/env node
// Run as `node tests/inspector/demo.mjs <the built command>`: every page of the Inspector has something to show while
// `postrider demo` runs, and Ctrl-C leaves nothing behind.

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PATIENCE, Stage, assert } from "./stage.mjs";

const [command] = process.argv.slice(2);
const temporary = mkdtempSync(join(tmpdir(), "postrider-"));
const demo = spawn(command, ["demo", "--listen", "127.0.0.1:0"], { env: { TMPDIR: temporary }, stdio: ["ignore", "pipe", "inherit"] });
const ended = new Promise((end) => demo.once("exit", (code, signal) => end(signal ?? code)));
const stage = new Stage();
try {
  const login = await printedLink(demo);
  stage.url = new URL(login).origin;
  const page = await stage.page();
  await page.goto(login);
  await tour(page);
  assert.equal(readdirSync(temporary).length, 1, "the data is in one directory");
  // The page is still open, as it is for most people who press Ctrl-C.
  demo.kill("SIGINT");
  assert.equal(await ended, 0, "Ctrl-C ends it well");
  assert.deepEqual(readdirSync(temporary), [], "something is left behind");
} finally {
  demo.kill("SIGKILL");
  await ended;
  rmSync(temporary, { recursive: true });
  await stage.close();
}

/** The login link, which works once. */
async function printedLink(demo) {
  for await (const line of createInterface(demo.stdout)) {
    const [link] = line.match(/http:\S+\?once=\S+/) ?? [];
    if (link) return link;
  }
  assert.fail("it prints a login link");
}

/** Opens each page and waits until it has something to show. */
async function tour(page) {
  const link = (name) => page.getByRole("link", { name });
  const menu = (name) => page.getByRole("navigation", { name: "Main" }).getByRole("link", { name }).click();
  const back = (name) => page.locator(".crumbs").getByRole("link", { name }).click();
  const rows = page.locator(".rows-table tbody tr");

  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.locator("#live.on").waitFor();
  await page.locator("[data-part=attention]", { hasText: "Billing (broken)" }).waitFor();
  await page.locator(".stat", { hasText: "Success rate" }).locator("svg").waitFor();
  await page.locator("[data-part=failures] tbody tr").nth(2).waitFor();

  await menu("Deliveries");
  await rows.nth(20).waitFor();
  await page.goto(`${stage.url}/inspector/deliveries?status=failed`);
  await rows.filter({ hasText: "Old CI server (down)" }).first().locator("a.open").click();
  await page.locator(".why").getByText("What to do").waitFor();
  await page.locator(".timeline .step").first().waitFor();

  await menu("Webhooks");
  await rows.nth(5).waitFor();
  await link("Billing (broken)").click();
  await page.locator("#state", { hasText: "Failed" }).waitFor();
  await page.locator(".banner").getByText("Last error").waitFor();
  await back("Webhooks");
  await link("Team chat (rate limiting)").click();
  await reloadUntil(page, page.getByText("currently all attempts are limited to"));
  await page.getByRole("heading", { name: "Backlog" }).waitFor();

  await menu("Sources");
  await rows.nth(1).waitFor();
  await link("GitHub: our repository").click();
  await page.locator(".rejected").getByText("What to do").first().waitFor();
  await link("View full request").first().click();
  await page.locator("pre").first().waitFor();

  await menu("API keys");
  await rows.first().waitFor();

  await menu("Dead letters");
  await rows.first().waitFor();
  await link("Retry all matches").click();
  // The demo retries them as well, once, so there may be none just now.
  const confirm = page.getByRole("button", { name: /^Retry/ });
  await reloadUntil(page, confirm);
  await confirm.click();
  await page.getByRole("heading", { name: "Bulk retry" }).waitFor();
  await page.locator(".pill", { hasText: "Done" }).waitFor();
}

/** For parts of a page that are not updated live. */
async function reloadUntil(page, wanted) {
  const end = Date.now() + PATIENCE;
  while (!await wanted.count()) {
    assert(Date.now() < end, `timed out waiting for ${wanted}`);
    await page.reload();
  }
}
