// Keyboard shortcuts; the size of the first page.
import { assert, until } from "../stage.mjs";
import { populate } from "../scene.mjs";

async function keyboard(stage, page) {
  await stage.goto(page, "/inspector/deliveries");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "q");
  await page.keyboard.press("Escape");
  const here = () => page.evaluate(() => document.activeElement.closest("tr")?.rowIndex);
  await page.keyboard.press("j");
  assert.equal(await here(), 1);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  assert.equal(await here(), 2);
  await page.keyboard.press("Enter");
  await page.waitForURL(/deliveries\/dlv_/);
  await page.keyboard.press("?");
  await page.getByRole("dialog").getByText("Next and previous row").waitFor();
  await page.keyboard.press("Escape");
  // The second key must follow within two seconds, which a busy machine may miss.
  await until(async () => {
    await page.keyboard.press("g");
    await page.keyboard.press("l");
    return page.waitForURL(/\/dead$/, { timeout: 5000 }).then(() => true, () => false);
  }, "the dead letters");
  await page.getByRole("heading", { name: "Dead letters" }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  assert.equal(await page.locator("td.select input:checked").count(), 1);
}

export default async function (stage) {
  await populate(stage);
  const page = await stage.inside();
  await keyboard(stage, page);

  // The first page with all its assets, without compression.
  const bytes = await page.evaluate(async () => {
    const parts = ["/inspector", ...Array.from(document.querySelectorAll("link[href], script[src]"), (part) => part.href ?? part.src)];
    const sizes = await Promise.all(parts.map(async (part) => (await (await fetch(part)).arrayBuffer()).byteLength));
    return sizes.reduce((sum, size) => sum + size, 0);
  });
  console.log(`first page: ${bytes} bytes`);
  assert(bytes < 100_000, `${bytes} bytes`);
}
