// The form that builds a filter: rows write the pattern, the pattern fills rows, and what rows cannot express stays text.
import { assert } from "../stage.mjs";
import { overflowOf, violationsOf } from "../axe.mjs";

const EVIL = `</script><img src=x onerror=alert(1)>"'`;
const BEYOND = '{"$or": [{"total": [{"numeric": [">", 100]}]}, {"vip": [true]}]}';

export default async function (stage) {
  const receiver = await stage.receiver();
  const page = await stage.inside({ bypassCSP: true });
  await stage.goto(page, "/inspector/webhooks/new");
  await page.getByLabel("Name", { exact: true }).fill("Built by form");
  await page.getByLabel("URL").fill(receiver.url);
  await page.getByLabel("Event types").fill("order.*");
  const pattern = page.getByLabel("Event pattern");
  const written = async () => JSON.parse(await pattern.inputValue());
  const add = async (path, operator, value) => {
    await page.getByRole("button", { name: "Add condition" }).click();
    const n = await page.locator(".conditions > div").count();
    await page.getByLabel(`Field of condition ${n}`).fill(path);
    await page.getByLabel(`Operator of condition ${n}`).selectOption({ label: operator });
    if (value !== undefined) await page.getByLabel(`Value of condition ${n}`).fill(value);
  };

  // Rows write the pattern.
  await add("status", "is", "open");
  await add("status", "is", '"5"');
  await add("order.total", "> number", "100");
  await add("order.coupon", "does not exist");
  await add("note", "is not", EVIL);
  const built = { status: ["open", "5"], order: { total: [{ numeric: [">", 100] }], coupon: [{ exists: false }] }, note: [{ "anything-but": EVIL }] };
  assert.deepEqual(await written(), built);
  assert.equal(await page.getByLabel("Value of condition 4").isDisabled(), true);
  assert.equal(await page.locator("main img").count(), 0);
  const found = [];
  for (const [scheme, width] of [["light", 1280], ["dark", 1280], ["light", 390]]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 900 });
    for (const violation of await violationsOf(page)) found.push(`${scheme}, ${width} wide: ${violation}`);
    if (await overflowOf(page) > 0) found.push(`wider than ${width}`);
  }
  assert.deepEqual(found, []);

  // On a phone as well: a condition is removed, and the webhook is created with the rest.
  await page.getByLabel("Remove of condition 5").click();
  delete built.note;
  assert.deepEqual(await written(), built);
  await page.getByRole("button", { name: "Create webhook" }).click();
  await page.locator("#secret").waitFor();
  const [made] = (await stage.api("GET", "/v1/webhooks")).items;
  assert.deepEqual(made.filter, built);

  // The stored pattern fills the rows again.
  await page.setViewportSize({ width: 1280, height: 900 });
  await stage.goto(page, `/inspector/webhooks/${made.id}/edit`);
  assert.equal(await page.locator(".conditions > div").count(), 4);
  const shown = await page.locator(".conditions > div").evaluateAll((lines) =>
    lines.map((line) => Array.from(line.querySelectorAll("input, select"), (field) => field.value).join(" ")));
  assert.deepEqual(shown.sort(), ["order.coupon absent ", "order.total > 100", 'status is "5"', "status is open"]);

  // A pattern that rows cannot express stays as it was typed, and can be saved.
  await pattern.fill(BEYOND);
  await page.getByText("The form cannot show this pattern").waitFor();
  assert.equal(await page.locator(".conditions > div").count(), 0);
  assert.equal(await pattern.inputValue(), BEYOND);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const kept = (await stage.api("GET", `/v1/webhooks/${made.id}`)).filter;
  assert.deepEqual(kept, JSON.parse(BEYOND));

  // Without scripts there is only the text.
  const plain = await stage.inside({ javaScriptEnabled: false });
  await stage.goto(plain, `/inspector/webhooks/${made.id}/edit`);
  assert.equal(await plain.locator("#filter-form").isVisible(), false);
  assert.deepEqual(JSON.parse(await plain.getByLabel("Event pattern").inputValue()), JSON.parse(BEYOND));
}
