// Filters: checked, tried on the last events before they are saved, with and without scripts, and kept when a form is saved.
import { assert, until } from "../stage.mjs";
import { overflowOf, violationsOf } from "../axe.mjs";

const EVIL = `</script><img src=x onerror=alert(1)>"'`;
const ABOVE_100 = '{"total": [{"numeric": [">", 100]}]}';

export default async function (stage) {
  const receiver = await stage.receiver();
  const all = await stage.webhook(receiver.url, { name: "All orders", event_types: ["*"] });
  for (const [type, payload] of [["order.paid", { total: 20 }], ["order.paid", { total: 250 }], ["mail.sent", { total: 500 }]]) {
    const { deliveries } = await stage.api("POST", "/v1/events", { type, payload });
    await stage.reaches(deliveries[0].id, "delivered");
  }

  // A filter that is not valid is reported and nothing is saved.
  const page = await stage.inside({ bypassCSP: true });
  await stage.goto(page, "/inspector/webhooks/new");
  await page.getByLabel("Name", { exact: true }).fill("Large orders");
  await page.getByLabel("URL").fill(receiver.url);
  await page.getByLabel("Event types").fill("order.*");
  const pattern = page.getByLabel("Event pattern");
  for (const [text, complaint] of [["{", "is not valid JSON"], ['{"total": 5}', "at /total"]]) {
    await pattern.fill(text);
    // Enter saves; it does not press the button beside the filter.
    await page.getByLabel("Name", { exact: true }).press("Enter");
    await page.getByRole("alert").getByText(complaint).waitFor();
    assert.equal(await pattern.getAttribute("aria-invalid"), "true");
    assert.equal(await pattern.inputValue(), text);
  }
  assert.equal((await stage.api("GET", "/v1/webhooks")).items.length, 1);

  // The preview shows each event with what keeps it from matching.
  await pattern.fill(ABOVE_100);
  await page.getByRole("button", { name: "Try on the last 100 events" }).click();
  await page.getByText("Would have received 1 of the last 3 events.").waitFor();
  await until(() => pattern.evaluate((field) => field.getBoundingClientRect().top < window.innerHeight), "the filter is in view");
  const rows = page.getByRole("region", { name: "The last events" }).locator("tbody tr");
  const shown = (await rows.allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  assert.match(shown[0], /^Other event type mail\.sent/);
  assert.match(shown[1], /^Match order\.paid/);
  assert.match(shown[2], /^No match order\.paid .*\/total/);
  const found = [];
  for (const [scheme, width] of [["light", 1280], ["dark", 1280], ["light", 390]]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 900 });
    for (const violation of await violationsOf(page)) found.push(`${scheme}, ${width} wide: ${violation}`);
    if (await overflowOf(page) > 0) found.push(`wider than ${width}`);
  }
  assert.deepEqual(found, []);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole("button", { name: "Create webhook" }).click();
  await page.locator("#secret").waitFor();
  const large = (await stage.api("GET", "/v1/webhooks")).items.find(({ name }) => name === "Large orders");
  assert.deepEqual(large.filter, JSON.parse(ABOVE_100));

  // It holds, its page shows it, and saving the form keeps it.
  const paid = async (total) => (await stage.api("POST", "/v1/events", { type: "order.paid", payload: { total } })).deliveries.length;
  assert.deepEqual([await paid(20), await paid(250)], [1, 2]);
  await stage.goto(page, `/inspector/webhooks/${large.id}`);
  await page.locator("dd pre.pattern", { hasText: '"numeric"' }).waitFor();
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Timeout in seconds").fill("7");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const kept = await stage.api("GET", `/v1/webhooks/${large.id}`);
  assert.deepEqual([kept.filter, kept.timeout_seconds], [large.filter, 7]);

  // The form works without scripts, and stored markup stays text.
  const plain = await stage.inside({ javaScriptEnabled: false });
  await stage.goto(plain, `/inspector/webhooks/${large.id}/edit`);
  await plain.getByLabel("Event pattern").fill(JSON.stringify({ [EVIL]: [EVIL] }));
  await plain.getByRole("button", { name: "Try on the last 100 events" }).click();
  await plain.getByText("Would have received 0 of the last 5 events.").waitFor();
  assert.equal(await plain.locator("main img, main script").count(), 0);
  await plain.getByLabel("Event pattern").fill("");
  await plain.getByRole("button", { name: "Save" }).click();
  await plain.getByText("Saved.").waitFor();
  assert.equal((await stage.api("GET", `/v1/webhooks/${large.id}`)).filter, null);

  // A route keeps its filter when the form of its source is saved.
  const route = { event_type: "push", filter: { ref: [{ suffix: "/main" }] }, intent: "build", webhook_id: all.id };
  const source = await stage.api("POST", "/v1/sources", { name: "Forge", scheme: "github", secret: "a secret of some length", routes: [route] });
  await stage.goto(page, `/inspector/sources/${source.id}`);
  await page.getByText('{"ref":[{"suffix":"/main"}]}').waitFor();
  await stage.goto(page, `/inspector/sources/${source.id}/edit`);
  await page.getByLabel("Filter of route 1").fill('{"ref": "main"}');
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText("at /ref").waitFor();
  await page.getByLabel("Filter of route 1").fill('{"ref": ["refs/heads/main"]}');
  await page.getByRole("button", { name: "Save" }).click();
  await until(async () => {
    const [{ filter }] = (await stage.api("GET", `/v1/sources/${source.id}`)).routes;
    return JSON.stringify(filter) === '{"ref":["refs/heads/main"]}';
  }, "the route has its new filter");
}
