// Sources: creating one, its URL, rejected requests and their diagnosis, secrets, routes, deleting; deleting a webhook.
import { assert } from "../stage.mjs";
import { github, stripe } from "../sender.mjs";

export default async function (stage) {
  const receiver = await stage.receiver();
  const webhook = await stage.webhook(receiver.url, { headers: { authorization: "Bearer hidden-credential", "x-team": "blue" } });
  const page = await stage.inside();
  await stage.goto(page, "/inspector/sources");
  await page.getByRole("link", { name: "Create a source" }).click();

  // Invalid fields are reported, and the form keeps its input.
  await page.getByLabel("Name").fill("Repository");
  await page.getByLabel("Scheme").selectOption("discord");
  await page.getByLabel("Event types of route 1").fill("pull_request.*");
  await page.getByRole("button", { name: "Create source" }).click();
  await page.getByRole("alert").getByText("public key").waitFor();
  assert.equal(await page.getByLabel("Event types of route 1").inputValue(), "pull_request.*");
  await page.getByLabel("Scheme").selectOption("github");
  await page.getByRole("button", { name: "Create source" }).click();
  await page.getByRole("alert").getByText("routes[0].intent").waitFor();
  await page.getByLabel("Intent of route 1").fill("review");
  await page.getByLabel("Webhook of route 1").selectOption({ label: "Orders" });
  await page.getByRole("button", { name: "Add rows" }).click();
  await page.getByLabel("Event types of route 2").fill("push");
  await page.getByLabel("Intent of route 2").fill("build");
  await page.getByLabel("Webhook of route 2").selectOption({ label: "Orders" });
  await page.getByRole("button", { name: "Create source" }).click();

  // Its secret is shown once, and its URL is complete.
  const secret = await page.locator("#secret").innerText();
  const address = await page.locator("#address").innerText();
  const [source] = (await stage.api("GET", "/v1/sources")).items;
  assert.equal(address, `${stage.url}/gateway/webhooks/${source.id}`);
  const called = address.replace(stage.url, stage.calls);
  assert.equal(source.routes.length, 2);
  await stage.goto(page, `/inspector/sources/${source.id}`);
  assert(!(await page.content()).includes(secret), "shown once");
  await page.getByText("No rejected requests in the last 7 days").waitFor();
  await page.getByText("HMAC-SHA256 over body").waitFor();

  // A request with a valid signature is accepted; others are rejected and appear live with a diagnosis.
  await page.locator("#live.on").waitFor();
  const body = '{"action":"opened","number":7}';
  const accepted = await github(called, secret, body, { event: "pull_request" });
  assert.equal(accepted.status, 202);
  await stage.reaches((await accepted.json()).deliveries[0].id, "delivered");
  assert.equal((await github(called, secret, body, { sent: JSON.stringify(JSON.parse(body), null, 2) })).status, 401);
  const line = page.locator(".rejected li").first();
  await line.getByRole("heading", { name: "The body was modified in transit" }).waitFor();
  await line.getByText("as JSON without whitespace").waitFor();
  await line.getByText("It must forward the body byte for byte").waitFor();
  await github(called, "another secret", body);
  await page.getByRole("heading", { name: "No match found" }).waitFor();
  await page.getByRole("link", { name: "View full request" }).first().click();
  await page.getByRole("heading", { name: "Rejected request" }).waitFor();
  assert.equal(await page.locator("pre.payload").innerText(), body);
  await page.getByText("x-github-event").waitFor();

  await stage.goto(page, "/inspector/sources");
  await page.locator("tbody tr", { hasText: "Repository" }).locator("td.time").first().getByText("ago").waitFor();

  // A wrong clock.
  const timed = await stage.api("POST", "/v1/sources", { name: "Payments", scheme: "stripe", secret: "whsec_of_the_sender" });
  await stripe(`${stage.calls}${timed.url}`, "whsec_of_the_sender", '{"type":"invoice.paid"}', { secondsAgo: 4000 });
  await stage.goto(page, `/inspector/sources/${timed.id}`);
  await page.getByRole("heading", { name: "Clock skew or replay" }).waitFor();
  await page.getByText(/its timestamp is 400\d s behind the gateway's clock/).waitFor();
  await github(`${stage.calls}${timed.url}`, "whsec_of_the_sender", body);
  await page.getByText("Create a source with the scheme github").waitFor();

  // A new secret, given or generated.
  await stage.goto(page, `/inspector/sources/${source.id}`);
  await page.getByText("Rotate…", { exact: true }).click();
  await page.getByLabel("New secret").fill("the sender's own secret");
  await page.getByRole("button", { name: "Rotate secret" }).click();
  await page.getByText("Secret rotated.").waitFor();
  assert(!(await page.content()).includes("the sender's own secret"));
  assert.equal((await github(called, "the sender's own secret", body)).status, 202);
  await page.getByText("Rotate…", { exact: true }).click();
  await page.getByRole("button", { name: "Rotate secret" }).click();
  const generated = await page.locator("#secret").innerText();
  assert.equal((await github(called, generated, body)).status, 202);

  // Routes are changed; a cleared row is removed.
  await stage.goto(page, `/inspector/sources/${source.id}`);
  await page.getByRole("link", { name: "Edit" }).click();
  for (const field of ["Event types", "Intent"]) await page.getByLabel(`${field} of route 1`).fill("");
  await page.getByLabel("Name").fill("Monorepo");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved. Changes apply from the next request.").waitFor();
  const changed = await stage.api("GET", `/v1/sources/${source.id}`);
  assert.deepEqual([changed.name, changed.routes.map((route) => route.intent)], ["Monorepo", ["build"]]);

  await headers(stage, page, webhook);

  // Deleting has to be confirmed.
  await stage.goto(page, `/inspector/webhooks/${webhook.id}`);
  assert(!(await page.getByRole("button", { name: "Delete webhook" }).isVisible()));
  await page.getByText("Delete…").click();
  await page.getByRole("button", { name: "Delete webhook" }).click();
  await page.getByText("Webhook deleted.").waitFor();
  assert.equal((await stage.api("GET", "/v1/webhooks")).items.length, 0);
  await stage.goto(page, `/inspector/sources/${source.id}`);
  await page.locator(".pill", { hasText: "Deleted" }).waitFor();
  await page.getByText("Delete…").click();
  await page.getByRole("button", { name: "Delete source" }).click();
  await page.getByText("Source deleted.").waitFor();
  assert.equal((await github(called, generated, body)).status, 401);
}

/** A webhook's custom headers and automatic resume. */
async function headers(stage, page, { id }) {
  await stage.goto(page, `/inspector/webhooks/${id}/edit`);
  assert(!(await page.content()).includes("hidden-credential"));
  const values = async () => {
    const before = (await stage.api("GET", `/v1/webhooks/${id}`)).headers;
    return [before.authorization, before["x-team"], before["x-env"]];
  };
  assert.deepEqual(await values(), ["***", "blue", undefined]);
  const names = page.getByLabel(/^Name of header/);
  assert.deepEqual(await names.evaluateAll((all) => all.map((one) => one.value)), ["authorization", "x-team", "", ""]);
  await names.nth(1).fill("");
  await names.nth(2).fill("X-Env");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText("must have a value").waitFor();
  await page.getByLabel("Value of header 2").fill("prod");
  await page.getByLabel("Resume automatically").check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("resumes automatically").waitFor();
  assert.deepEqual(await values(), ["***", undefined, "prod"]);
  assert.equal((await stage.api("GET", `/v1/webhooks/${id}`)).auto_resume, true);
  await stage.goto(page, `/inspector/webhooks/${id}`);
  await page.getByRole("button", { name: "Send test event" }).click();
  await page.locator("#state", { hasText: "Delivered" }).waitFor();
}
