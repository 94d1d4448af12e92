// A page that stays open for a day: thousands of changes, a gateway restart, a session that ends.
import { assert, Stage, until } from "../stage.mjs";
import { Gateway, TOKEN } from "../gateway.mjs";
import { Relay } from "../relay.mjs";

const TURNS = 12, A_TURN = 2 * 3_600_000, CHANGES = 250;

export default async function (outer) {
  const gateway = new Gateway(process.env.POSTRIDER);
  const stage = new Stage(await gateway.start(), TOKEN);
  const relay = new Relay(stage.url);
  // Only the browser connects through the relay.
  const seen = new Stage(await relay.start(), TOKEN);
  outer.closing.push(() => gateway.process.kill());
  try {
    await stay(stage, seen, gateway, relay);
  } finally {
    await seen.close();
    await stage.close();
    relay.stop();
    await gateway.remove();
  }
}

/** The page's memory metrics. */
async function held(cdp) {
  await cdp.send("HeapProfiler.collectGarbage");
  const { metrics } = await cdp.send("Performance.getMetrics");
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
}

async function stay(stage, seen, gateway, relay) {
  const receiver = await stage.receiver();
  const webhook = await stage.webhook(receiver.url);
  const key = await stage.api("POST", "/v1/keys", { name: "on the wall", scopes: ["read"] });
  const page = await seen.page();
  // Its clock can be advanced; network traffic takes real time.
  await page.clock.install();
  await seen.goto(page, "/inspector/login?next=%2Finspector%2Fdeliveries");
  await page.getByLabel("API key").fill(key.token);
  await page.getByRole("button", { name: "Log in" }).click();
  const live = page.locator("#live");
  await live.getByText("Live").waitFor();
  await page.evaluate(() => { window.sameDocument = true; });

  /** Publishes, lets time pass, and waits until the newest is on the page. */
  const pass = async (count, time, name) => {
    await stage.publishMany(webhook, count);
    await stage.publish(webhook, { session_id: name });
    await page.clock.fastForward(time);
    // From here only slightly faster than real time, because the page's requests have timeouts.
    await until(async () => {
      await page.clock.fastForward(250);
      return page.getByText(name, { exact: true }).isVisible();
    }, `${name} appears`);
  };
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable");
  for (let round = 0; round < 3; round += 1) await pass(CHANGES, 60_000, `warm-${round}`);
  const before = await held(cdp);
  for (let turn = 0; turn < TURNS; turn += 1) await pass(CHANGES, A_TURN, `turn-${turn}`);

  assert.equal(await page.locator("tbody tr").count(), 50);
  const bounds = { JSHeapUsedSize: before.JSHeapUsedSize * 1.2 + 500_000, Nodes: before.Nodes * 1.2, JSEventListeners: before.JSEventListeners + 5, Documents: before.Documents + 1 };
  let after;
  await until(async () => {
    after = await held(cdp);
    return Object.entries(bounds).every(([name, bound]) => after[name] <= bound);
  }, () => `memory does not grow: ${JSON.stringify([bounds, after])}`);
  for (const name of Object.keys(bounds)) console.log(`${name}: ${before[name]} after the warm-up, ${after[name]} after ${TURNS * CHANGES} changes`);

  // The machine slept and its connections died silently. The page notices.
  relay.silence();
  await pass(1, A_TURN, "after-the-sleep");
  await live.getByText("Live").waitFor();

  // The gateway stops and restarts: the page says so, reconnects, and shows what happened since.
  await gateway.stop();
  await until(async () => {
    await page.clock.fastForward(10_000);
    return live.getByText("Reconnecting…").isVisible();
  }, "the page says that the gateway is unreachable");
  await page.evaluate(() => refresh());
  await live.getByText("Data may be out of date").waitFor();
  await gateway.start();
  await live.getByText("Live").waitFor();
  await pass(1, 60_000, "after-the-restart");
  assert(await page.evaluate(() => window.sameDocument), "it was never loaded again");

  // The session ends: the page says so and links to the login, which returns to it.
  await stage.api("DELETE", `/v1/keys/${key.id}`);
  await gateway.stop();
  await gateway.start();
  await live.getByText("Your session has ended.").waitFor();
  await live.getByRole("link", { name: "Log in" }).click();
  await page.getByLabel("API key").fill(TOKEN);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("after-the-restart").waitFor();
}
