// Sources: making one, its address, what was refused and why, new secrets, routes, removing it; removing a webhook.
import { assert } from "../stage.mjs";
import { github, stripe } from "../sender.mjs";

export default async function (stage) {
  const receiver = await stage.receiver();
  const webhook = await stage.webhook(receiver.url, { headers: { authorization: "Bearer hidden-credential", "x-team": "blue" } });
  const page = await stage.inside();
  await stage.goto(page, "/inspector/sources");
  await page.getByRole("link", { name: "Make the first one" }).click();

  // What does not fit is named, and what was written stays.
  await page.getByLabel("Name").fill("Repository");
  await page.getByLabel("Scheme").selectOption("discord");
  await page.getByLabel("Events of route 1").fill("pull_request.*");
  await page.getByRole("button", { name: "Make the source" }).click();
  await page.getByRole("alert").getByText("public key").waitFor();
  assert.equal(await page.getByLabel("Events of route 1").inputValue(), "pull_request.*");
  await page.getByLabel("Scheme").selectOption("github");
  await page.getByRole("button", { name: "Make the source" }).click();
  await page.getByRole("alert").getByText("routes[0].intent").waitFor();
  await page.getByLabel("Intent of route 1").fill("review");
  await page.getByLabel("Webhook of route 1").selectOption({ label: "Orders" });
  await page.getByRole("button", { name: "More lines" }).click();
  await page.getByLabel("Events of route 2").fill("push");
  await page.getByLabel("Intent of route 2").fill("build");
  await page.getByLabel("Webhook of route 2").selectOption({ label: "Orders" });
  await page.getByRole("button", { name: "Make the source" }).click();

  // Its secret is shown once, and its address is the one to paste.
  const secret = await page.locator("#secret").innerText();
  const address = await page.locator("#address").innerText();
  const [source] = (await stage.api("GET", "/v1/sources")).items;
  assert.equal(address, `${stage.url}/gateway/webhooks/${source.id}`);
  const called = address.replace(stage.url, stage.calls);
  assert.equal(source.routes.length, 2);
  await stage.goto(page, `/inspector/sources/${source.id}`);
  assert(!(await page.content()).includes(secret), "shown once");
  await page.getByText("None within the last 7 days").waitFor();
  await page.getByText("HMAC-SHA256 over body").waitFor();

  // A request with the right signature arrives; others are refused, and appear by themselves with what would have matched.
  await page.locator("#live.on").waitFor();
  const body = '{"action":"opened","number":7}';
  const accepted = await github(called, secret, body, { event: "pull_request" });
  assert.equal(accepted.status, 202);
  await stage.reaches((await accepted.json()).deliveries[0].id, "delivered");
  assert.equal((await github(called, secret, body, { sent: JSON.stringify(JSON.parse(body), null, 2) })).status, 401);
  const line = page.locator(".refused li").first();
  await line.getByRole("heading", { name: "The body was written anew on the way" }).waitFor();
  await line.getByText("as JSON without white space").waitFor();
  await line.getByText("It must pass the bytes on as they came").waitFor();
  await github(called, "another secret", body);
  await page.getByRole("heading", { name: "Nothing that was tried matches" }).waitFor();
  await page.getByRole("link", { name: "The whole request" }).first().click();
  await page.getByRole("heading", { name: "Refused request" }).waitFor();
  assert.equal(await page.locator("pre.payload").innerText(), body);
  await page.getByText("x-github-event").waitFor();

  await stage.goto(page, "/inspector/sources");
  await page.locator("tbody tr", { hasText: "Repository" }).locator("td.time").first().getByText("ago").waitFor();

  // A wrong clock.
  const timed = await stage.api("POST", "/v1/sources", { name: "Payments", scheme: "stripe", secret: "whsec_of_the_sender" });
  await stripe(`${stage.calls}${timed.url}`, "whsec_of_the_sender", '{"type":"invoice.paid"}', { secondsAgo: 4000 });
  await stage.goto(page, `/inspector/sources/${timed.id}`);
  await page.getByRole("heading", { name: "Wrong clock, or sent again" }).waitFor();
  await page.getByText(/its time is 400\d s behind the gateway's/).waitFor();
  await github(`${stage.calls}${timed.url}`, "whsec_of_the_sender", body);
  await page.getByText("Make a new source with the scheme `github`").waitFor();

  // A new secret, given or drawn.
  await stage.goto(page, `/inspector/sources/${source.id}`);
  await page.getByText("Rotate…", { exact: true }).click();
  await page.getByLabel("The sender's new secret").fill("what the sender drew");
  await page.getByRole("button", { name: "Rotate the secret" }).click();
  await page.getByText("The secret is replaced.").waitFor();
  assert(!(await page.content()).includes("what the sender drew"));
  assert.equal((await github(called, "what the sender drew", body)).status, 202);
  await page.getByText("Rotate…", { exact: true }).click();
  await page.getByRole("button", { name: "Rotate the secret" }).click();
  const drawn = await page.locator("#secret").innerText();
  assert.equal((await github(called, drawn, body)).status, 202);

  // Routes are changed; an emptied line goes.
  await stage.goto(page, `/inspector/sources/${source.id}`);
  await page.getByRole("link", { name: "Edit" }).click();
  for (const field of ["Events", "Intent"]) await page.getByLabel(`${field} of route 1`).fill("");
  await page.getByLabel("Name").fill("Monorepo");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved. It counts from the next request on.").waitFor();
  const changed = await stage.api("GET", `/v1/sources/${source.id}`);
  assert.deepEqual([changed.name, changed.routes.map((route) => route.intent)], ["Monorepo", ["build"]]);

  await headers(stage, page, webhook);

  // Both are deleted only when somebody says so twice.
  await stage.goto(page, `/inspector/webhooks/${webhook.id}`);
  assert(!(await page.getByRole("button", { name: "Delete the webhook" }).isVisible()));
  await page.getByText("Delete…").click();
  await page.getByRole("button", { name: "Delete the webhook" }).click();
  await page.getByText("The webhook is deleted.").waitFor();
  assert.equal((await stage.api("GET", "/v1/webhooks")).items.length, 0);
  await stage.goto(page, `/inspector/sources/${source.id}`);
  await page.locator(".pill", { hasText: "Deleted" }).waitFor();
  await page.getByText("Delete…").click();
  await page.getByRole("button", { name: "Delete the source" }).click();
  await page.getByText("The source is deleted.").waitFor();
  assert.equal((await github(called, drawn, body)).status, 401);
}

/** A webhook's own headers and what it does when failed. */
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
  await page.getByLabel("Resume by itself").check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("tests itself and resumes").waitFor();
  assert.deepEqual(await values(), ["***", undefined, "prod"]);
  assert.equal((await stage.api("GET", `/v1/webhooks/${id}`)).auto_resume, true);
  await stage.goto(page, `/inspector/webhooks/${id}`);
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.locator("#state", { hasText: "Delivered" }).waitFor();
}
