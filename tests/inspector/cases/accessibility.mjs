// Accessibility: axe-core finds no serious violation on any page, in light and dark, and no page is wider than a phone.
import { assert } from "../stage.mjs";
import { overflowOf, violationsOf } from "../axe.mjs";
import { populate, places, shadow } from "../scene.mjs";

export default async function (stage) {
  const scene = await populate(stage);
  const found = [];
  const wide = { width: 1280, height: 900 };
  const narrow = { width: 390, height: 844 };
  // axe is injected into the page, which the page's own policy forbids.
  const page = await stage.inside({ bypassCSP: true });
  const check = async (path) => {
    // Dark mode differs only in colours, a phone only in layout.
    for (const [scheme, viewport, rule] of [["light", wide, null], ["dark", wide, "color-contrast"], ["light", narrow, "scrollable-region-focusable"]]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize(viewport);
      for (const violation of await violationsOf(page, rule)) found.push(`${path} in ${scheme}, ${viewport.width} wide: ${violation}`);
      const over = await overflowOf(page);
      if (over > 0) found.push(`${path} is ${over} wider than ${viewport.width}`);
    }
  };
  for (const path of places(scene)) {
    await page.setViewportSize(wide);
    await stage.goto(page, path);
    await check(path);
  }
  await page.setViewportSize(wide);
  await shadow(stage, page, scene.dead, scene.staging.url);
  await check("the result of a shadow request");
  assert.deepEqual(found, []);
}
