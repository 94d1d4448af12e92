// Error pages and their links; the search, with and without results.
import { assert } from "../stage.mjs";

export default async function (stage) {
  const receiver = await stage.receiver();
  const webhook = await stage.webhook(receiver.url);
  const other = await stage.webhook(receiver.url, { name: "Other" });
  const source = await stage.api("POST", "/v1/sources", { name: "Forge", scheme: "github", secret: "a secret of some length" });
  const published = await stage.api("POST", "/v1/events", { type: "order.paid", payload: { n: 1 }, session_id: "cart-9" });
  assert.equal(published.deliveries.length, 2);
  const page = await stage.inside();
  const menu = page.getByRole("navigation", { name: "Main" });

  // An unknown URL: the menu stays, and there are links elsewhere.
  for (const path of ["/nowhere", "/deliveries/dlv_nothing", "/webhooks/wh_nothing", "/sources/src_nothing", "/events/evt_nothing", "/retries/job_nothing"]) {
    assert.equal((await stage.goto(page, `/inspector${path}`)).status(), 404, path);
    await menu.waitFor();
    await page.getByRole("main").getByRole("link", { name: "Overview" }).waitFor();
  }

  // The object was deleted by another request: the action fails, and a link leads back.
  await stage.goto(page, `/inspector/webhooks/${other.id}`);
  await page.locator("#live.on").waitFor();
  await stage.api("DELETE", `/v1/webhooks/${other.id}`);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator("#error-card").waitFor();
  await menu.waitFor();
  assert.equal(await page.getByRole("main").getByRole("link", { name: "Back" }).getAttribute("href"), `/inspector/webhooks/${other.id}`);

  // The search.
  const find = async (text) => {
    await page.keyboard.press("/");
    await page.getByRole("searchbox").fill(text);
    await page.getByRole("searchbox").press("Enter");
  };
  await stage.goto(page, "/inspector");
  await find(published.id);
  await page.waitForURL(new RegExp(`/inspector/events/${published.id}$`));
  assert.deepEqual((await page.locator("tbody tr").evaluateAll((rows) => rows.map((row) => row.dataset.key))).sort(), published.deliveries.map(({ id }) => id).sort());
  await find(source.id);
  await page.getByRole("heading", { name: "Forge" }).waitFor();
  await find(webhook.id);
  await page.getByRole("heading", { name: "Orders" }).waitFor();
  await find("cart-9");
  await page.waitForURL(/session_id=cart-9/);
  for (const unknown of ["cart-10", other.id, "<img src=x onerror=alert(1)>"]) {
    await find(unknown);
    await page.getByRole("heading", { name: "No results" }).waitFor();
    await page.locator("#no-results").getByText(unknown).waitFor();
  }

  // The session ends while a page is open: nothing changes, and the login returns to the page.
  const guest = await stage.inside();
  await stage.goto(guest, `/inspector/webhooks/${webhook.id}`);
  await guest.context().clearCookies();
  await guest.getByRole("button", { name: "Pause" }).click();
  await guest.getByText("nothing was changed").waitFor();
  assert.equal((await stage.api("GET", `/v1/webhooks/${webhook.id}`)).status, "active");
  await guest.getByRole("link", { name: "Log in" }).click();
  await guest.getByLabel("API key").fill(stage.token);
  await guest.getByRole("button", { name: "Log in" }).click();
  await guest.getByRole("heading", { name: "Orders" }).waitFor();
}
