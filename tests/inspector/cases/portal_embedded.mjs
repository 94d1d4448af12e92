// The portal in a frame of another site: it works there, tells its height to that site only, and refuses all others.
import { createServer } from "node:http";
import { assert, until } from "../stage.mjs";
import { Gateway, TOKEN } from "../gateway.mjs";
import { Customer, link, productKey } from "../portal.mjs";

/** A site on `localhost`, which is another site than 127.0.0.1, with the portal in a frame. */
async function embedder(stage) {
  const site = { frame: "" };
  const page = () => `<!doctype html><title>App</title><iframe src="${site.frame}" width="1000" height="300" title="Webhooks"></iframe>
    <script>heights = []; onmessage = ({ origin, data }) => heights.push({ origin, ...data });</script>`;
  const server = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end(page()));
  await new Promise((ready) => server.listen(0, "localhost", ready));
  stage.closing.push(() => { server.close(); server.closeAllConnections(); });
  site.url = `http://localhost:${server.address().port}`;
  stage.friends.push(site.url);
  return site;
}

async function works(stage, site, token, options) {
  const receiver = await stage.receiver({ status: 500 });
  const page = await stage.page(options);
  site.frame = await link(stage);
  await page.goto(site.url);
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
async function refuses(stage, stranger) {
  // Not watched: the refusal is an error on the console.
  const page = await (await stage.browser.newContext()).newPage();
  stranger.frame = await link(stage);
  const errors = [];
  page.on("console", (message) => errors.push(message.text()));
  await page.goto(stranger.url);
  await until(() => errors.some((text) => text.includes("frame-ancestors")), () => `it is refused: ${errors}`);
  assert.deepEqual(await page.evaluate(() => heights), []);
  // The Inspector is never embedded.
  const inspector = await fetch(`${stage.url}/inspector/login`);
  assert.equal(inspector.headers.get("x-frame-options"), "DENY");
}

export default async function (stage) {
  const [site, stranger] = [await embedder(stage), await embedder(stage)];
  const gateway = new Gateway(process.env.POSTRIDER, { POSTRIDER_PORTAL_FRAME_ANCESTORS: site.url });
  try {
    const url = await gateway.start();
    Object.assign(stage, { url, calls: url, token: TOKEN });
    const token = await productKey(stage);
    await works(stage, site, token, {});
    await works(stage, site, token, { viewport: { width: 390, height: 844 }, isMobile: true });
    await refuses(stage, stranger);
  } finally {
    await gateway.remove();
  }
}
