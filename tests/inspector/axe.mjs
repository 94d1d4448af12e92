// What axe-core finds on a page.
import { axePath } from "./stage.mjs";

/** In which looks pages are checked. On the deployed stack they are the same as embedded, and slow: one is enough there. */
export const LOOKS = process.env.CALLS ? [["dark", 390]] : [["light", 1280], ["dark", 1280], ["light", 390]];

/** Serious violations of all rules, or of one. The page must bypass its own policy, which forbids injected scripts. */
export async function violationsOf(page, rule) {
  await page.addScriptTag({ path: axePath });
  return page.evaluate(async (rule) => {
    const rules = rule ? { runOnly: { type: "rule", values: [rule] } } : {};
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"], ...rules });
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    return serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" | ")}`);
  }, rule);
}

/** How many pixels the page is wider than its window. */
export async function overflowOf(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}
