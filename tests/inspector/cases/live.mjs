// Live updates: changes appear, an open page does not grow, and a hidden page holds no connection.
import { assert, until } from "../stage.mjs";

export default async function (stage) {
  const receiver = await stage.receiver();
  const webhook = await stage.webhook(receiver.url);
  const page = await stage.inside();
  await stage.goto(page, "/inspector/deliveries");
  await page.locator("#live", { hasText: "Live" }).waitFor();
  await page.evaluate(() => { window.sameDocument = true; });
  const first = await stage.publish(webhook, { session_id: "s-live" });
  await page.locator(`tr[data-key="${first}"]`).getByText("Delivered").waitFor();

  // An update does not move the focus.
  await page.locator(`tr[data-key="${first}"] a.open`).focus();
  const second = await stage.publish(webhook);
  await page.locator(`tr[data-key="${second}"]`).waitFor();
  const focused = await page.evaluate(() => document.activeElement.closest("tr")?.dataset.key);
  assert.equal(focused, first);

  // The page does not grow over many changes.
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable");
  const nodes = async () => {
    await cdp.send("HeapProfiler.collectGarbage");
    const { metrics } = await cdp.send("Performance.getMetrics");
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  };
  await stage.publishMany(webhook, 60);
  await stage.count(webhook, "delivered", 62);
  await until(async () => (await page.locator("tbody tr").count()) === 50, "the page is full");
  const before = await nodes();
  for (let round = 0; round < 40; round += 1) {
    await stage.publish(webhook, { session_id: `round-${round}` });
    await page.evaluate(() => refresh());
  }
  await page.getByText("round-39").waitFor();
  assert.equal(await page.locator("tbody tr").count(), 50);
  await until(async () => {
    const after = await nodes();
    return after.Nodes <= before.Nodes * 1.2 && after.JSEventListeners <= before.JSEventListeners + 5 && after.Documents <= before.Documents + 1;
  }, "it does not grow");
  assert(await page.evaluate(() => window.sameDocument), "it was never loaded again");

  // A hidden page holds no connection; it catches up when it is visible again.
  const hide = (hidden) => page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  await hide(true);
  assert(await page.evaluate(() => source === null));
  // A refresh that began while it was visible may still end.
  await until(() => page.evaluate(() => !fetching), "no refresh is under way");
  const unseen = await stage.publish(webhook);
  await stage.reaches(unseen, "delivered");
  assert.equal(await page.locator(`tr[data-key="${unseen}"]`).count(), 0);
  await hide(false);
  await page.locator(`tr[data-key="${unseen}"]`).waitFor();
}
