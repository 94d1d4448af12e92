// For everyone: axe-core finds no serious fault on any page, in light and dark, and nothing is wider than a phone.
import { assert, axePath } from "../stage.mjs";
import { populate, places, shadow } from "../scene.mjs";

/** What axe finds by all its rules, or by one. */
async function faults(page, rule) {
  return page.evaluate(async (rule) => {
    const rules = rule ? { runOnly: { type: "rule", values: [rule] } } : {};
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"], ...rules });
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    return serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" | ")}`);
  }, rule);
}

export default async function (stage) {
  const scene = await populate(stage);
  const found = [];
  const wide = { width: 1280, height: 900 };
  const narrow = { width: 390, height: 844 };
  // axe has to be put into the page, which the page's own policy forbids.
  const page = await stage.inside({ bypassCSP: true });
  const look = async (path) => {
    await page.addScriptTag({ path: axePath });
    // In the dark only the colours differ, on a phone the places of things.
    for (const [scheme, viewport, rule] of [["light", wide, null], ["dark", wide, "color-contrast"], ["light", narrow, "scrollable-region-focusable"]]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize(viewport);
      for (const fault of await faults(page, rule)) found.push(`${path} in ${scheme}, ${viewport.width} wide: ${fault}`);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (over > 0) found.push(`${path} is ${over} wider than ${viewport.width}`);
    }
  };
  for (const path of places(scene)) {
    await page.setViewportSize(wide);
    await stage.goto(page, path);
    await look(path);
  }
  await page.setViewportSize(wide);
  await shadow(stage, page, scene.dead, scene.staging.url);
  await look("what came back from another URL");
  assert.deepEqual(found, []);
}
