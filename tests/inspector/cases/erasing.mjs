// Erasing an event: asked first, then its content is gone from every page.
import { assert } from "../stage.mjs";
import { overflowOf, violationsOf } from "../axe.mjs";

export default async function (stage) {
  const receiver = await stage.receiver();
  await stage.webhook(receiver.url, { name: "Orders", event_types: ["*"] });
  const canary = "canary-7d1c";
  const { id, deliveries } = await stage.api("POST", "/v1/events", { type: "order.paid", session_id: `session-${canary}`, payload: { note: canary } });
  await stage.reaches(deliveries[0].id, "delivered");
  const page = await stage.inside({ bypassCSP: true });
  await stage.goto(page, `/inspector/events/${id}`);
  await page.locator("#payload-text", { hasText: canary }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Erase content" }).isVisible(), false);
  await page.getByText("Erase…").click();
  await page.getByRole("button", { name: "Erase content" }).click();
  await page.getByText("The content of the event is erased.").waitFor();
  await page.locator("[data-erased]").waitFor();
  const found = [];
  for (const [scheme, width] of [["light", 1280], ["dark", 390]]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 900 });
    for (const violation of await violationsOf(page)) found.push(`${scheme}, ${width} wide: ${violation}`);
    if (await overflowOf(page) > 0) found.push(`wider than ${width}`);
  }
  assert.deepEqual(found, []);
  for (const path of [`/inspector/events/${id}`, "/inspector/deliveries", `/inspector/deliveries/${deliveries[0].id}`]) {
    await stage.goto(page, path);
    assert.equal((await page.content()).includes(canary), false, path);
  }
}
