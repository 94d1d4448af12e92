// Templates: copied from a preset, checked, tried on the last event before they are saved, with and without scripts.
import { assert } from "../stage.mjs";
import { overflowOf, violationsOf } from "../axe.mjs";

const EVIL = `</script><img src=x onerror=alert(1)>"'`;

export default async function (stage) {
  const receiver = await stage.receiver();
  await stage.webhook(receiver.url, { name: "All orders", event_types: ["*"] });
  const { deliveries } = await stage.api("POST", "/v1/events", { type: "order.paid", payload: { title: EVIL } });
  await stage.reaches(deliveries[0].id, "delivered");

  // A template that does not compile is reported with its line, and nothing is saved.
  const page = await stage.inside({ bypassCSP: true });
  await stage.goto(page, "/inspector/webhooks/new");
  await page.getByLabel("Name", { exact: true }).fill("Chat");
  await page.getByLabel("URL").fill(receiver.url);
  await page.getByLabel("Event types").fill("order.*");
  const body = page.getByLabel("Body", { exact: true });
  await body.fill("{\n{% if %}");
  await page.getByLabel("Name", { exact: true }).press("Enter");
  await page.getByRole("alert").getByText("line 2:").waitFor();
  assert.equal(await body.getAttribute("aria-invalid"), "true");
  assert.equal(await body.inputValue(), "{\n{% if %}");
  assert.equal((await stage.api("GET", "/v1/webhooks")).items.length, 1);

  // A preset is copied into the form; the preview shows what it makes of the last event.
  await page.getByRole("button", { name: "Copy preset for Microsoft Teams" }).click();
  assert.match(await body.inputValue(), /AdaptiveCard/);
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "Chat");
  await page.getByRole("button", { name: "Preview with the last event" }).click();
  const rendered = page.getByLabel("Rendered body");
  await page.getByRole("status").getByText("Rendered").waitFor();
  const card = JSON.parse(await rendered.innerText());
  assert.equal(card.attachments[0].content.body[1].text, JSON.stringify({ title: EVIL }));
  assert.equal(await page.locator("main img, main script").count(), 0);
  const found = [];
  for (const [scheme, width] of [["light", 1280], ["dark", 1280], ["light", 390]]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 900 });
    for (const violation of await violationsOf(page)) found.push(`${scheme}, ${width} wide: ${violation}`);
    if (await overflowOf(page) > 0) found.push(`wider than ${width}`);
  }
  assert.deepEqual(found, []);
  await page.setViewportSize({ width: 1280, height: 900 });

  // What cannot be rendered says where and why.
  await body.fill("{{ payload.title.of.nothing }}");
  await page.getByRole("button", { name: "Preview with the last event" }).click();
  await page.getByText("Cannot be rendered").waitFor();
  await page.getByText("line 1:").first().waitFor();
  await body.fill('{"text": "{{ payload.title }}"}');
  await page.getByLabel("Query").fill("type={{ event.type }}");
  await page.getByRole("button", { name: "Create webhook" }).click();
  await page.locator("#secret").waitFor();
  const chat = (await stage.api("GET", "/v1/webhooks")).items.find(({ name }) => name === "Chat");
  const template = { body: '{"text": "{{ payload.title }}"}', content_type: "application/json", query: "type={{ event.type }}" };
  assert.deepEqual(chat.template, template);

  // It is sent, its pages show it as text, and saving the form keeps it.
  const published = await stage.api("POST", "/v1/events", { type: "order.paid", payload: { title: EVIL }, webhook_id: chat.id });
  const delivery = published.deliveries[0].id;
  await stage.reaches(delivery, "delivered");
  await stage.goto(page, `/inspector/deliveries/${delivery}`);
  assert.deepEqual(JSON.parse(await page.getByLabel("Rendered body").innerText()), { text: EVIL });
  await page.getByText("?type=order.paid").waitFor();
  await stage.goto(page, `/inspector/webhooks/${chat.id}`);
  await page.locator("dd pre.pattern", { hasText: "payload.title" }).waitFor();
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Timeout in seconds").fill("7");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const kept = await stage.api("GET", `/v1/webhooks/${chat.id}`);
  assert.deepEqual([kept.template, kept.timeout_seconds], [template, 7]);

  // A delivery that could not be rendered explains itself.
  await stage.api("PATCH", `/v1/webhooks/${chat.id}`, { template: { body: "{{ payload.a.b }}" } });
  const failed = await stage.api("POST", "/v1/events", { type: "order.paid", payload: {}, webhook_id: chat.id });
  await stage.reaches(failed.deliveries[0].id, "dead");
  await stage.goto(page, `/inspector/deliveries/${failed.deliveries[0].id}`);
  await page.getByText("The template could not be rendered").first().waitFor();

  // The form works without scripts, and an empty template removes it.
  const plain = await stage.inside({ javaScriptEnabled: false });
  await stage.goto(plain, `/inspector/webhooks/${chat.id}/edit`);
  await plain.getByRole("button", { name: "Copy preset for Slack" }).click();
  assert.match(await plain.getByLabel("Body", { exact: true }).inputValue(), /mrkdwn/);
  await plain.getByLabel("Body", { exact: true }).fill("");
  await plain.getByRole("button", { name: "Save" }).click();
  await plain.getByText("Saved.").waitFor();
  assert.equal((await stage.api("GET", `/v1/webhooks/${chat.id}`)).template, null);
}
