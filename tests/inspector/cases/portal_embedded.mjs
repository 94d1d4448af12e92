// The portal in a frame of another site: it works there, tells its height to that site only, and refuses all others.
import { assert, until } from "../stage.mjs";
import { embedder } from "../embedder.mjs";
import { Gateway, TOKEN } from "../gateway.mjs";
import { Customer, link, productKey } from "../portal.mjs";

/** Another site. */
async function another(stage) {
  const { origin, close } = await embedder();
  stage.closing.push(close);
  return origin;
}

/** The URL of a page of this site with the portal in a frame. */
async function embedding(stage, site) {
  return `${site}/?frame=${encodeURIComponent(await link(stage))}`;
}

async function works(stage, site, token, options) {
  const receiver = await stage.receiver({ status: 500 });
  const page = await stage.page(options);
  await page.goto(await embedding(stage, site));
  const frame = page.frameLocator("iframe");
  await frame.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor();
  const customer = new Customer(stage, frame, token);
  await customer.create("Orders", receiver.url);
  const webhook = await customer.webhook();
  await customer.publish(webhook);
  await customer.fixAndRetry(receiver);
  const told = await until(() => page.evaluate(() => heights.length > 2 && heights), "the height is told");
  for (const { origin, type, height } of told) {
    assert.deepEqual([origin, type], [stage.url, "postrider.portal.height"]);
    assert(height > 100 && height < 20_000, `${height}`);
  }
  const [cookie] = await page.context().cookies(`${stage.url}/portal`);
  assert.deepEqual([cookie.name, cookie.httpOnly, cookie.secure, cookie.sameSite], ["postrider_portal", true, true, "None"]);
  await stage.api("DELETE", `/v1/webhooks/${webhook.id}`, undefined, token);
}

/** Another site gets no portal, and no height. */
async function refuses(stage) {
  // Not watched: the refusal is an error on the console.
  const page = await (await stage.browser.newContext()).newPage();
  const errors = [];
  page.on("console", (message) => errors.push(message.text()));
  await page.goto(await embedding(stage, await another(stage)));
  await until(() => errors.some((text) => text.includes("frame-ancestors")), () => `it is refused: ${errors}`);
  assert.deepEqual(await page.evaluate(() => heights), []);
  // The Inspector is never embedded.
  const inspector = await fetch(`${stage.calls}/inspector/login`);
  assert.equal(inspector.headers.get("x-frame-options"), "DENY");
}

async function play(stage, site) {
  stage.friends.push(site);
  const token = await productKey(stage);
  await works(stage, site, token, {});
  await works(stage, site, token, { viewport: { width: 390, height: 844 }, isMobile: true });
  await refuses(stage);
}

export default async function (stage) {
  // The deployed stack knows its embedder.
  if (process.env.EMBEDDER) return play(stage, process.env.EMBEDDER);
  const site = await another(stage);
  const gateway = new Gateway(process.env.POSTRIDER, { POSTRIDER_PORTAL_FRAME_ANCESTORS: site });
  try {
    const url = await gateway.start();
    Object.assign(stage, { url, calls: url, token: TOKEN });
    await play(stage, site);
  } finally {
    await gateway.remove();
  }
}
