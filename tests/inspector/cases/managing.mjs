// Webhooks: states, pausing, resuming, test events, rotating secrets, retry policy and schedule; API keys and sources.
import { assert, until } from "../stage.mjs";

export default async function (stage) {
  const receiver = await stage.receiver({ status: 503 });
  const page = await stage.inside();
  await stage.goto(page, "/inspector/webhooks");
  await page.getByText("No webhooks yet").waitFor();

  // A new webhook: invalid fields are reported, then it is created and shows its secret once.
  await page.getByRole("link", { name: "New webhook" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Orders");
  await page.getByLabel("URL").fill("http://10.0.0.1/");
  await page.getByLabel("Event types").fill("order.*\nmail.sent");
  await page.getByLabel("Maximum attempts").fill("200");
  await page.getByLabel("All attempts per second").fill("fast");
  await page.getByRole("button", { name: "Create webhook" }).click();
  const errors = page.getByRole("alert").locator("li");
  await errors.first().waitFor();
  assert.equal(await page.getByLabel("Maximum attempts").getAttribute("aria-invalid"), "true");
  await page.getByText("max_rate must be a whole number").waitFor();
  await page.getByLabel("All attempts per second").fill("20");
  await page.getByLabel("Attempts in flight").fill("3");
  await page.getByLabel("Rate of retries").selectOption("on");
  await page.getByLabel("URL").fill(receiver.url);
  await page.getByLabel("Maximum attempts").fill("4");
  await page.getByLabel("Delays").fill("1, 1, 2m");
  await page.getByLabel("Profile").selectOption("custom");
  await page.getByLabel("After the last attempt").selectOption("fail-webhook");
  await page.getByRole("button", { name: "Preview schedule" }).click();
  await page.getByText("4 attempts within 2m 2s").waitFor();
  assert.equal(await page.locator(".schedule circle").count(), 4);
  // Long enough for a page to show each state: on AWS the publisher notices a new listener after up to five seconds.
  await page.getByLabel("Delays").fill("10");
  await page.getByRole("button", { name: "Create webhook" }).click();
  const secret = await page.locator("#secret").innerText();
  assert.match(secret, /^whsec_/);
  const [{ id, max_rate, max_in_flight, retry }] = (await stage.api("GET", "/v1/webhooks")).items;
  assert.deepEqual([max_rate, max_in_flight, retry.retry_ramp], [20, 3, "on"]);
  await stage.goto(page, `/inspector/webhooks/${id}`);
  assert(!(await page.content()).includes(secret), "shown once");
  await page.getByText("20/s, all attempts").waitFor();

  // It warns from the first failure on, fails, and is resumed; list and page update live.
  const list = await stage.inside();
  await stage.goto(list, "/inspector/webhooks");
  const lost = await stage.publish({ id });
  await page.getByRole("heading", { name: "Recent delivery failures (retrying)" }).waitFor();
  await page.getByText("The last attempt failed.").waitFor();
  await list.getByText("Recent delivery failures (retrying)").waitFor();
  await page.locator(".banner").getByRole("link", { name: "HTTP status 503" }).waitFor();
  await page.getByRole("heading", { name: "Webhook failed (requires manual intervention)" }).waitFor();
  await page.getByText("a delivery failed after 3 retries").waitFor();
  await stage.goto(page, "/inspector");
  await page.getByRole("heading", { name: "Webhooks needing attention" }).waitFor();
  const waiting = await stage.publish({ id });
  // On AWS a worker moves it there.
  const backlog = async () => (await stage.api("GET", `/v1/webhooks/${id}`)).backlog;
  await until(async () => (await backlog()).size === 1, "one delivery is in the backlog");
  assert.deepEqual(await backlog(), { size: 1, counted: true, empty_at: null });
  await stage.goto(page, `/inspector/webhooks/${id}`);
  await page.getByText("1 delivery, until the webhook is resumed").waitFor();
  await stage.goto(page, `/inspector/deliveries/${waiting}`);
  await page.getByRole("heading", { name: "On hold: the webhook has failed" }).waitFor();
  receiver.answer = { status: 200 };
  await stage.goto(page, "/inspector");
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("Webhook resumed. Deliveries on hold go out now").waitFor();
  await stage.reaches(waiting, "delivered");
  assert.equal((await stage.api("GET", `/v1/deliveries/${lost}`)).status, "dead", "dead stays dead");

  // Pausing, a test event, a new secret, saving a change.
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("heading", { name: "Webhook paused" }).waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Send test event" }).click();
  await page.getByRole("heading", { name: "postrider.test" }).waitFor();
  await page.locator("#state", { hasText: "Delivered" }).waitFor();
  await stage.goto(page, `/inspector/webhooks/${id}`);
  await page.getByText("Rotate…").click();
  await page.getByRole("button", { name: "Rotate secret" }).click();
  assert.notEqual(await page.locator("#secret").innerText(), secret);
  await page.getByText("Previous secret valid until").waitFor();
  await page.getByRole("link", { name: "Edit" }).click();
  assert.equal(await page.getByLabel("Event types").inputValue(), "order.*\nmail.sent");
  await page.getByLabel("Timeout in seconds").fill("7");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const saved = await stage.api("GET", `/v1/webhooks/${id}`);
  assert.deepEqual([saved.timeout_seconds, saved.retry.delays_seconds, saved.retry.max_attempts], [7, [10], 4]);

  // Keys.
  await stage.goto(page, "/inspector/keys");
  await page.getByLabel("Name", { exact: true }).fill("for the shop");
  await page.getByRole("button", { name: "Create key" }).click();
  const token = await page.locator("#token").innerText();
  await stage.api("GET", "/v1/webhooks", undefined, token);
  const line = page.locator("tbody tr", { hasText: "for the shop" });
  await line.getByText("Revoke…").click();
  await line.getByRole("button", { name: "Revoke for the shop" }).click();
  await page.getByText("API key revoked.").waitFor();

  // Sources.
  await stage.goto(page, "/inspector/sources");
  await page.getByText("No sources yet").waitFor();
  const source = await stage.api("POST", "/v1/sources", {
    name: "GitHub", scheme: "github", secret: "a secret of some length", routes: [{ event_type: "push", intent: "build", webhook_id: id }],
  });
  await page.reload();
  await page.getByRole("link", { name: "GitHub" }).click();
  await page.getByText(`/gateway/webhooks/${source.id}`).waitFor();
  await page.getByRole("link", { name: "Orders" }).waitFor();
}
