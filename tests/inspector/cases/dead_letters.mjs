// Dead letters: retrying selected ones, counting, retrying all matches, watching and cancelling.
import { assert } from "../stage.mjs";

export default async function (stage) {
  const receiver = await stage.receiver({ status: 404 });
  const webhook = await stage.webhook(receiver.url, { retry: { classifier: "by-status" }, retry_rate: 10000 });
  const other = await stage.webhook(receiver.url, { name: "Other", retry: { classifier: "by-status" } });
  const page = await stage.inside();
  await stage.goto(page, "/inspector/dead");
  await page.getByText("No dead letters").waitFor();

  await stage.publishMany(webhook, 230);
  await stage.publishMany(other, 3);
  await stage.count(webhook, "dead", 230);
  await stage.count(other, "dead", 3);

  // Two selected ones; the others stay.
  await stage.goto(page, `/inspector/dead?webhook_id=${other.id}`);
  const retry = page.getByRole("button", { name: /Retry selected/ });
  assert(await retry.isDisabled(), "nothing is selected");
  await page.locator("td.select input").nth(0).check();
  await page.locator("td.select input").nth(1).check();
  receiver.answer = { status: 200 };
  await retry.click();
  await page.getByText("2 requeued.").waitFor();
  await stage.count(other, "delivered", 2);
  await page.reload();
  assert.equal(await page.locator("tbody tr").count(), 1);
  await page.getByLabel("Select all on this page").check();
  assert.equal(await page.locator("td.select input:checked").count(), 1);

  // All matches: counted first, which changes nothing.
  await stage.goto(page, `/inspector/dead?webhook_id=${webhook.id}`);
  await page.getByRole("link", { name: "Retry all matches…" }).click();
  assert.equal(await page.locator("#count").innerText(), "230");
  await page.getByText("to Orders").waitFor();
  await stage.count(webhook, "dead", 230);
  await page.getByRole("button", { name: "Retry 230 deliveries" }).click();
  await page.waitForURL(/retries\/job_/);

  if (process.env.SWEEP === "slow") {
    // The first slice is done at once; the rest waits for the sweep, so it can be cancelled.
    await page.locator("#job-state", { hasText: "Running" }).waitFor();
    assert.equal(await page.locator("#job-done").innerText(), "200");
    await page.getByRole("button", { name: "Cancel bulk retry" }).click();
    await page.locator("#job-state", { hasText: "Cancelled" }).waitFor();
    await stage.count(webhook, "delivered", 200);
    await stage.goto(page, `/inspector/dead?webhook_id=${webhook.id}`);
    assert.equal(await page.locator("tbody tr").count(), 30);
  } else {
    // The page updates live.
    await page.locator("#job-state", { hasText: "Done" }).waitFor();
    assert.equal(await page.locator("#job-done").innerText(), "230");
    await stage.count(webhook, "delivered", 230);
  }
}
