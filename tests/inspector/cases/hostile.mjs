// Markup stored in any field stays text.
import { assert } from "../stage.mjs";
import { github } from "../sender.mjs";

const EVIL = `</script><img src=x onerror=alert(1)>"'><svg onload=alert(2)>`;
const LABEL = `</script><img/src=x/onerror=alert(3)>"'`;

export default async function (stage) {
  const receiver = await stage.receiver({ status: 500, body: `<script>alert(4)</script>${EVIL}` });
  const webhook = await stage.webhook(`${receiver.url}?q=%3Cimg%20src=x%20onerror=alert(5)%3E`, {
    name: EVIL, owner_email: `"'&x@example.com`, headers: { "x-evil": EVIL }, retry: { profile: "custom", delays_seconds: [1], max_attempts: 1, on_exhausted: "fail-webhook" },
  });
  const id = await stage.publish(webhook, { payload: { evil: EVIL, [EVIL]: 1 }, session_id: LABEL });
  await stage.reaches(id, "dead");
  const raw = await stage.api("POST", "/v1/events", {
    type: "order.raw", payload_base64: Buffer.from(`<html><script>alert(6)</script>${EVIL}`).toString("base64"), content_type: "text/html", webhook_id: webhook.id,
  });
  const key = await stage.key(EVIL, ["read", "manage"]);
  const source = await stage.api("POST", "/v1/sources", {
    name: EVIL, scheme: "github", secret: "a secret of some length", routes: [{ event_type: "push", intent: LABEL, target_session: LABEL, webhook_id: webhook.id }],
  });
  await github(`${stage.calls}${source.url}`, EVIL, EVIL, { headers: { "x-evil": EVIL, "content-type": `text/html; ${LABEL}` } });
  const [rejected] = (await stage.api("GET", `/v1/sources/${source.id}/refused`)).items;
  const entry = { description: EVIL, group: EVIL, schema: { title: EVIL, properties: { [EVIL]: { type: "string", description: EVIL, enum: [EVIL] } } }, examples: [{ [EVIL]: EVIL }, EVIL], deprecated: true };
  // API Gateway takes an encoded slash for one that separates.
  const type = encodeURIComponent(LABEL.replaceAll("/", "."));
  await stage.api("PUT", `/v1/event-types/${type}`, entry);
  const page = await stage.inside({}, key);
  const paths = [
    "", "/deliveries", `/deliveries/${id}`, `/deliveries/${id}?view=raw`, `/deliveries/${id}/shadow`, `/deliveries/${raw.deliveries[0].id}`, "/dead", `/dead/retry?webhook_id=${webhook.id}`,
    "/webhooks", `/webhooks/${webhook.id}`, `/webhooks/${webhook.id}/edit`, "/sources", `/sources/${source.id}`, `/sources/${source.id}/edit`,
    `/sources/${source.id}/refused/${rejected.id}`, `/events/${raw.id}`, "/keys", "/event-types", `/event-types/${type}`, `/event-types/${type}/edit`, "/new-event-type",
  ];
  const odd = encodeURIComponent(EVIL);
  for (const name of ["session_id", "status", "webhook_id", "event_type", "from", "to", "cursor", "done", "view", "window"]) {
    paths.push(`/deliveries?${name}=${odd}`, `/dead?${name}=${odd}`, `?${name}=${odd}`, `/deliveries/${id}?${name}=${odd}`);
  }
  paths.push(`/search?q=${odd}`, `/${odd}`);
  for (const path of paths) {
    await stage.goto(page, `/inspector${path}`);
    const made = await page.evaluate(() => document.querySelectorAll("main img:not([src^='/inspector/assets/']), main script, main [onload], main [onerror], main iframe").length);
    assert.equal(made, 0, `markup on ${path}`);
    const inline = await page.evaluate(() => document.querySelectorAll("[style], style, script:not([src])").length);
    assert.equal(inline, 0, `inline style or script on ${path}`);
  }
  // A forged one-time link, which the page submits automatically.
  const outside = await stage.page();
  await stage.goto(outside, `/inspector/login?once=${odd}&next=${odd}`);
  await outside.getByRole("alert").getByText("already been used").waitFor();
  assert.equal(await outside.locator("main img").count(), 1);

  await stage.goto(page, `/inspector/deliveries/${id}?view=raw`);
  assert((await page.locator("#payload-text").innerText()).includes(EVIL.replaceAll('"', '\\"')), "it is shown unchanged");
  await stage.goto(page, `/inspector/webhooks/${webhook.id}`);
  assert.equal((await page.locator("h1").innerText()).includes(EVIL), true);

  await stage.goto(page, `/inspector/sources/${source.id}/refused/${rejected.id}`);
  assert.equal(await page.locator("pre.payload").innerText(), EVIL);

  // A payload is a download, never a page.
  const headers = (path) => page.evaluate(async (path) => Object.fromEntries((await fetch(path)).headers), path);
  const file = await headers(`/inspector/deliveries/${raw.deliveries[0].id}/payload`);
  assert.equal(file["content-type"], "application/octet-stream");
  assert.match(file["content-disposition"], /^attachment/);
  const policy = (await headers("/inspector"))["content-security-policy"];
  assert(policy.includes("default-src 'none'") && !policy.includes("unsafe"), policy);
}
