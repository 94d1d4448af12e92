// A read-only key sees no buttons, and its requests to change something are rejected.
import { assert, until } from "../stage.mjs";
import { github } from "../sender.mjs";

export default async function (stage) {
  const receiver = await stage.receiver({ status: 500 });
  const webhook = await stage.webhook(receiver.url, { retry: { profile: "custom", delays_seconds: [1], max_attempts: 1, on_exhausted: "fail-webhook" } });
  const id = await stage.publish(webhook);
  await stage.reaches(id, "dead");
  const status = async () => (await stage.api("GET", `/v1/webhooks/${webhook.id}`)).status;
  await until(async () => (await status()) === "failed", "the webhook has failed");
  const source = await stage.api("POST", "/v1/sources", { name: "Forge", scheme: "github", secret: "a secret of some length" });
  await github(`${stage.calls}${source.url}`, "another", '{"hidden":"in the body"}');
  const [rejected] = (await stage.api("GET", `/v1/sources/${source.id}/refused`)).items;
  const { signature, event_id } = await stage.api("GET", `/v1/deliveries/${id}`);
  const token = await stage.key("reader", ["read"]);
  const page = await stage.inside({}, token);
  await page.getByText("Read-only").waitFor();
  for (const path of ["", "/deliveries", `/deliveries/${id}`, "/dead", "/webhooks", `/webhooks/${webhook.id}`, "/sources", `/sources/${source.id}`, `/events/${event_id}`, "/keys"]) {
    assert.equal((await stage.goto(page, `/inspector${path}`)).status(), 200, path);
    const posting = await page.locator("main form[method=post] button").count();
    assert.equal(posting, 0, `buttons on ${path}`);
    assert.equal(await page.locator("main .ask").count(), 0, path);
    assert(!(await page.content()).includes(signature), `a signature on ${path}`);
  }
  assert.match(signature, /^sha256=[0-9a-f]{64}$/);
  await stage.goto(page, `/inspector/sources/${source.id}`);
  await page.getByText("no signature matches").waitFor();
  assert.equal(await page.getByRole("link", { name: "View full request" }).count(), 0);
  for (const path of [
    "/sources/new", `/sources/${source.id}/edit`, `/sources/${source.id}/refused/${rejected.id}`, "/webhooks/new", `/webhooks/${webhook.id}/edit`, "/dead/retry", `/deliveries/${id}/shadow`,
  ]) {
    assert.equal((await stage.goto(page, `/inspector${path}`)).status(), 403, path);
    await page.getByRole("navigation", { name: "Main" }).waitFor();
  }
  await stage.goto(page, "/inspector");
  const submit = (path, body) => page.evaluate(async ([path, body]) => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    return (await fetch(`/inspector${path}`, { method: "POST", body, headers, redirect: "manual" })).status;
  }, [path, body]);
  for (const path of [
    `/deliveries/${id}/retry`, `/deliveries/${id}/shadow`, "/dead/retry", "/retries", `/webhooks/${webhook.id}/resume`, `/webhooks/${webhook.id}/pause`,
    `/webhooks/${webhook.id}/rotate`, `/webhooks/${webhook.id}/test`, `/webhooks/${webhook.id}/edit`, "/webhooks/new", "/keys",
    `/webhooks/${webhook.id}/delete`, "/sources/new", ...["edit", "rotate", "delete"].map((action) => `/sources/${source.id}/${action}`),
  ]) {
    assert.equal(await submit(path, `id=${id}&name=x&scope=manage&url=${encodeURIComponent(receiver.url)}`), 403, path);
  }
  assert.equal((await stage.api("GET", `/v1/deliveries/${id}`)).status, "dead");
  assert.equal(receiver.requests.length, 1);
  assert.equal(await status(), "failed");
  assert.equal((await stage.api("GET", "/v1/keys")).items.length, 2);
  const [forge, ...more] = (await stage.api("GET", "/v1/sources")).items;
  assert.deepEqual([forge.name, forge.secret_expires, more], ["Forge", [], []]);
}
