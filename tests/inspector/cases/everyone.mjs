// For everyone: axe-core finds no serious fault on any page, in light and dark; nothing is wider than a phone; the
// keyboard does it all; the first page is small.
import { assert, axePath } from "../stage.mjs";
import { populate, places } from "../scene.mjs";

async function faults(page) {
  await page.addScriptTag({ path: axePath });
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    return serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" | ")}`);
  });
}

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
  await page.getByRole("dialog").getByText("next and previous line").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await page.getByRole("heading", { name: "Dead letters" }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  assert.equal(await page.locator("td.tick input:checked").count(), 1);
}

export default async function (stage) {
  const scene = await populate(stage);
  const found = [];
  for (const [scheme, viewport] of [["light", { width: 1280, height: 900 }], ["dark", { width: 1280, height: 900 }], ["light", { width: 390, height: 844 }]]) {
    // axe has to be put into the page, which the page's own policy forbids.
    const page = await stage.inside({ colorScheme: scheme, viewport, bypassCSP: true });
    for (const path of places(scene)) {
      await stage.goto(page, path);
      for (const fault of await faults(page)) found.push(`${path} in ${scheme}, ${viewport.width} wide: ${fault}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 0) found.push(`${path} is ${wide} wider than ${viewport.width}`);
    }
  }
  assert.deepEqual(found, []);
  const page = await stage.inside();
  await keyboard(stage, page);

  // The whole of the first page, with all it needs, as it goes over the wire without compression.
  const bytes = await page.evaluate(async () => {
    const parts = ["/inspector", ...Array.from(document.querySelectorAll("link[href], script[src]"), (part) => part.href ?? part.src)];
    const sizes = await Promise.all(parts.map(async (part) => (await (await fetch(part)).arrayBuffer()).byteLength));
    return sizes.reduce((sum, size) => sum + size, 0);
  });
  console.log(`first page: ${bytes} bytes`);
  assert(bytes < 100_000, `${bytes} bytes`);
}
