// A customer goes from a link to a fixed delivery, on a desktop and on a phone, with hostile text in every field.
import { assert, until } from "../stage.mjs";
import { LOOKS, overflowOf, violationsOf } from "../axe.mjs";
import { Customer, EVIL, link, productKey } from "../portal.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

async function story(stage, token, options) {
  const receiver = await stage.receiver({ status: 500, body: EVIL });
  const page = await stage.page(options);
  const url = await link(stage, { return_url: "https://app.example/settings" });
  await page.goto(url);
  await page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/portal/webhooks");
  const customer = new Customer(stage, page, token);
  assert.match(await customer.create(EVIL, receiver.url), /^whsec_/);
  const webhook = await customer.webhook();
  await customer.publish(webhook, { payload: { evil: EVIL } });
  await customer.fixAndRetry(receiver);
  assert.equal(receiver.requests.length, 2);

  await customer.go("Webhooks");
  await page.locator("a.open").click();
  assert((await page.locator("h1").innerText()).includes(EVIL));
  assert.equal(await page.locator("#secret").count(), 0, "the secret is shown once");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("Webhook paused.").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("Webhook resumed.").waitFor();
  await page.getByRole("button", { name: "Send test event" }).click();
  await page.getByRole("heading", { name: "postrider.test" }).waitFor();
  await page.locator("#state", { hasText: "Delivered" }).waitFor();
  await stage.api("DELETE", `/v1/webhooks/${webhook.id}`, undefined, token);

  assert.equal(await page.getByRole("link", { name: "Back" }).getAttribute("href"), "https://app.example/settings");
  await page.getByRole("button", { name: "Log out" }).click();
  await page.locator("#no-session").waitFor();
  // The link was used.
  await page.goto(url);
  await page.getByText("already used").waitFor();
}

/** A link of another tenant replaces a session only with a click. */
async function otherTenant(stage) {
  const page = await stage.page();
  const inside = () => page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor();
  await page.goto(await link(stage));
  await inside();
  await page.goto(await link(stage, { tenant: "globex" }));
  await page.getByRole("button", { name: "Log in as globex" }).click();
  await inside();
  await page.context().close();
}

/** Dead letters, selected by a filter, are all retried. */
async function retryAll(stage, token) {
  const receiver = await stage.receiver({ status: 500 });
  const retry = { profile: "custom", delays_seconds: [1], max_attempts: 1, on_exhausted: "dead-letter" };
  const made = { name: EVIL, target_url: receiver.url, event_types: ["order.*"], retry, headers: { "x-evil": EVIL } };
  const webhook = await stage.api("POST", "/v1/webhooks", made, token);
  const page = await stage.page();
  const customer = new Customer(stage, page, token);
  for (let n = 0; n < 3; n += 1) await customer.publish(webhook, { session_id: `</script><img/src=x/onerror=alert(3)>"'` });
  const dead = async () => (await stage.api("GET", "/v1/deliveries?status=dead", undefined, token)).items.length;
  await until(async () => (await dead()) === 3, "three are dead");
  await page.goto(await link(stage));
  await customer.go("Dead letters");
  receiver.answer = { status: 200 };
  await page.getByRole("link", { name: "Retry all matches…" }).click();
  await page.getByRole("button", { name: "Retry 3 deliveries" }).click();
  await page.locator("#job-state", { hasText: "Done" }).waitFor();
  await until(async () => (await dead()) === 0, "all were retried");
  return webhook;
}

/** Every page: no markup out of stored text, nothing inline, accessible, as wide as the window. */
async function everyPage(stage, token, webhook) {
  const { items } = await stage.api("GET", "/v1/deliveries", undefined, token);
  const [{ id, event_id }] = items;
  const paths = [
    "/webhooks", "/webhooks/new", `/webhooks/${webhook.id}`, `/webhooks/${webhook.id}/edit`, "/deliveries", `/deliveries/${id}`,
    `/events/${event_id}`, "/dead", "/dead/retry", "/nowhere", `/deliveries?session_id=${encodeURIComponent(EVIL)}`,
  ];
  for (const [colorScheme, width] of LOOKS) {
    const page = await stage.page({ ...(width < 500 ? PHONE : {}), colorScheme, bypassCSP: true });
    await page.goto(await link(stage));
    await page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor();
    for (const path of paths) {
      await stage.goto(page, `/portal${path}`);
      assert.equal(await page.locator("main img, main script, main [onload], main [onerror], main iframe").count(), 0, path);
      assert.equal(await page.locator("[style], style, script:not([src])").count(), 0, `inline on ${path}`);
      assert(!(await page.content()).includes("/inspector"), `the Inspector on ${path}`);
      assert((await overflowOf(page)) <= 0, `${path} is too wide`);
      assert.deepEqual(await violationsOf(page), [], `${path} in ${colorScheme}, ${width} wide`);
    }
    await page.context().close();
  }
}

export default async function (stage) {
  const token = await productKey(stage);
  await story(stage, token, {});
  await story(stage, token, PHONE);
  await otherTenant(stage);
  await everyPage(stage, token, await retryAll(stage, token));
}
