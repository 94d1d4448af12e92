// A key that may only look sees no buttons, and is refused when it asks all the same.
import { assert } from "../stage.mjs";

export default async function (stage) {
  const receiver = await stage.receiver({ status: 500 });
  const webhook = await stage.webhook(receiver.url, { retry: { profile: "custom", delays_seconds: [1], max_attempts: 1, on_exhausted: "fail-webhook" } });
  const id = await stage.publish(webhook);
  await stage.reaches(id, "dead");
  const token = await stage.key("reader", ["read"]);
  const page = await stage.inside({}, token);
  await page.getByText("Read only").waitFor();
  for (const path of ["", "/deliveries", `/deliveries/${id}`, "/dead", "/webhooks", `/webhooks/${webhook.id}`, "/sources", "/keys"]) {
    assert.equal((await stage.goto(page, `/inspector${path}`)).status(), 200, path);
    const posting = await page.locator("main form[method=post] button").count();
    assert.equal(posting, 0, `buttons on ${path}`);
    assert.equal(await page.locator("main .ask").count(), 0, path);
  }
  for (const path of ["/webhooks/new", `/webhooks/${webhook.id}/edit`, "/dead/retry", `/deliveries/${id}/shadow`]) {
    assert.equal((await stage.goto(page, `/inspector${path}`)).status(), 403, path);
  }
  await stage.goto(page, "/inspector");
  const ask = (path, body) => page.evaluate(async ([path, body]) => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    return (await fetch(`/inspector${path}`, { method: "POST", body, headers, redirect: "manual" })).status;
  }, [path, body]);
  for (const path of [
    `/deliveries/${id}/retry`, `/deliveries/${id}/shadow`, "/dead/retry", "/retries", `/webhooks/${webhook.id}/resume`, `/webhooks/${webhook.id}/pause`,
    `/webhooks/${webhook.id}/rotate`, `/webhooks/${webhook.id}/test`, `/webhooks/${webhook.id}/edit`, "/webhooks/new", "/keys",
  ]) {
    assert.equal(await ask(path, `id=${id}&name=x&scope=manage&url=${encodeURIComponent(receiver.url)}`), 403, path);
  }
  assert.equal((await stage.api("GET", `/v1/deliveries/${id}`)).status, "dead");
  assert.equal(receiver.requests.length, 1);
  assert.equal((await stage.api("GET", `/v1/webhooks/${webhook.id}`)).status, "failed");
  assert.equal((await stage.api("GET", "/v1/keys")).items.length, 2);
}
