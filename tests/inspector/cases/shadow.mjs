// A shadow request: both responses are shown side by side, and the delivery is unchanged.
import { assert } from "../stage.mjs";

const EVIL = `</script><img src=x onerror=alert(1)>`;

export default async function (stage) {
  const receiver = await stage.receiver({ status: 500, body: `{"error":"database is away"}` });
  const elsewhere = await stage.receiver({ status: 200, body: `{"error":"none"}`, headers: { "content-type": "application/json" } });
  const webhook = await stage.webhook(receiver.url, {
    headers: { authorization: "Bearer hidden-credential", "x-team": "blue" }, retry: { profile: "custom", delays_seconds: [1], max_attempts: 1 },
  });
  const id = await stage.publish(webhook);
  const before = await stage.reaches(id, "dead");
  const page = await stage.inside();
  await stage.goto(page, `/inspector/deliveries/${id}`);
  await page.getByText("Send to another URL…").click();
  await page.getByLabel("URL", { exact: true }).fill(elsewhere.url);
  await page.getByRole("button", { name: "Send", exact: true }).click();

  // Both responses, and their differences in words.
  await page.getByRole("heading", { name: "The other URL returned 200" }).waitFor();
  const side = (name) => page.getByRole("region", { name, exact: true });
  assert.equal(await side("Other URL").locator("pre").innerText(), `{"error":"none"}`);
  assert.equal(await side("Last attempt, #1").locator("pre").innerText(), `{"error":"database is away"}`);
  await side("Other URL").getByText(elsewhere.url).waitFor();
  await side("Last attempt, #1").getByText(receiver.url).waitFor();
  const compared = page.locator(".compared");
  await compared.getByText("200 here, 500 on the last attempt").waitFor();
  await compared.getByText("they differ after 10 bytes").waitFor();
  await page.getByText("Headers not sent").waitFor();
  await page.getByText("A shadow request does not count as an attempt").waitFor();
  assert.equal(elsewhere.requests.length, 1);
  assert.equal(elsewhere.requests[0]["postrider-shadow"], "true");
  assert.equal(elsewhere.requests[0].authorization, undefined, "credentials of the webhook are not sent");
  const signature = elsewhere.requests[0]["webhook-signature"].replace("v1,", "");
  const text = await page.content();
  assert(!text.includes("hidden-credential") && !text.includes(signature), "no secret on the page");

  // Side by side on a wide screen, stacked on a phone.
  const boxes = async () => Promise.all(["Other URL", "Last attempt, #1"].map((name) => side(name).boundingBox()));
  const [left, right] = await boxes();
  assert(right.x > left.x + left.width - 1 && Math.abs(right.y - left.y) < 2, "side by side");
  await page.setViewportSize({ width: 390, height: 844 });
  const [above, below] = await boxes();
  assert(below.y > above.y + above.height - 1 && above.x === below.x, "stacked");
  await page.setViewportSize({ width: 1280, height: 900 });

  // Again with the headers, to a server that responds with markup.
  elsewhere.answer = { status: 404, body: EVIL, headers: { "content-type": `text/html;x="<b>"` } };
  assert.equal(await page.getByLabel("URL", { exact: true }).inputValue(), elsewhere.url);
  await page.getByLabel("Include the webhook's custom headers").check();
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("heading", { name: "The other URL returned 404" }).waitFor();
  assert.equal(await side("Other URL").locator("pre").innerText(), EVIL);
  assert.equal(await page.locator("main img, main script, main p.muted b").count(), 0, "markup stays text");
  assert.equal(elsewhere.requests[1].authorization, "Bearer hidden-credential");
  await page.locator(".headers").getByText("blue").waitFor();
  assert(!(await page.content()).includes("hidden-credential"));

  // Invalid input is reported and nothing is sent; a failed connection is a result.
  await page.getByLabel("URL", { exact: true }).fill("http://169.254.169.254/latest");
  await page.getByLabel("Timeout in seconds").fill("soon");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const errors = page.getByRole("alert");
  await errors.getByText("Nothing was sent").waitFor();
  assert.equal(await errors.locator("li").count(), 2);
  await errors.getByText("must be 1 to 20").waitFor();
  await page.getByLabel("URL", { exact: true }).fill("http://127.0.0.1:9/");
  await page.getByLabel("Timeout in seconds").fill("5");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("heading", { name: "No response from the other URL" }).waitFor();
  await side("Other URL").locator(".error", { hasText: "connection failed" }).waitFor();

  assert.deepEqual(await stage.api("GET", `/v1/deliveries/${id}`), before, "the delivery is unchanged");
  assert.equal(receiver.requests.length, 1);
  await page.getByRole("link", { name: "order.paid" }).click();
  assert.equal(await page.locator(".timeline .step").count(), 1);
}
