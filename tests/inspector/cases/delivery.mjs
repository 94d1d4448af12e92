// One delivery: why it failed, its attempts, requests and responses, and retrying it.
import { assert } from "../stage.mjs";

export default async function (stage) {
  // Slow enough for a bar: very short attempts have none.
  const receiver = await stage.receiver({ status: 500, body: "database <b>is away</b>", delay_ms: 20 });
  const webhook = await stage.webhook(receiver.url, {
    headers: { authorization: "Bearer hidden-credential", "x-team": "blue" },
    retry: { profile: "custom", delays_seconds: [1], max_attempts: 2 },
  });
  const id = await stage.publish(webhook, { session_id: "cart-9" });
  await stage.reaches(id, "dead");
  const page = await stage.inside();
  await stage.goto(page, `/inspector/deliveries/${id}`);
  await page.getByRole("heading", { name: "The receiver returned 500" }).waitFor();
  await page.getByText("Given up after 2 attempts").waitFor();
  const steps = page.locator(".timeline .step");
  assert.equal(await steps.count(), 2);
  await steps.first().getByText("Response", { exact: true }).click();
  assert.equal(await steps.first().locator("pre").innerText(), "database <b>is away</b>");
  assert.equal(await page.locator(".bar rect").count() >= 4, true, "the phases are drawn");
  const request = page.locator("[data-part=request]");
  await request.getByText(receiver.url).waitFor();
  await request.getByText("blue").waitFor();
  assert(!(await page.content()).includes("hidden-credential"));

  // The payload: formatted, raw, as a download.
  assert.match(await page.locator("#payload-text").innerText(), /\{\n {2}"order": 7,/);
  await page.getByRole("link", { name: "Raw" }).click();
  assert.equal(await page.locator("#payload-text").innerText(), '{"order":7,"total":"12.50"}');
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download" }).click()]);
  assert.match(file.suggestedFilename(), /^evt_.*\.payload$/);

  // Retry now: it is sent again, and the history is kept.
  receiver.answer = { status: 200 };
  await page.getByRole("button", { name: "Retry now" }).click();
  await page.getByText("The delivery is pending and due now").waitFor();
  await page.locator("#state", { hasText: "Delivered" }).waitFor();
  assert.equal(await steps.count(), 3);
  assert(!page.url().includes("done="), "the message is shown once");
  assert.equal(await page.getByRole("button", { name: "Retry now" }).count(), 0);

  // Sending a delivered one again has to be confirmed.
  await page.getByText("Send again…").click();
  await page.getByRole("button", { name: "Send again", exact: true }).click();
  await page.locator(".timeline li").nth(3).waitFor();

  // A port where no receiver listens.
  const gone = await stage.webhook("http://127.0.0.1:9/", { name: "Gone", retry: { max_attempts: 1 } });
  const lost = await stage.publish(gone);
  await stage.reaches(lost, "dead");
  await stage.goto(page, `/inspector/deliveries/${lost}`);
  await page.getByRole("heading", { name: "Could not connect to 127.0.0.1, port 9" }).waitFor();
}
