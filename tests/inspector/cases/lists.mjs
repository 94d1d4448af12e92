// Lists: filters, URLs that can be shared, paging, the search field.
import { assert } from "../stage.mjs";

const rows = (page) => page.locator("tbody tr");

export default async function (stage) {
  const receiver = await stage.receiver();
  const orders = await stage.webhook(receiver.url);
  const mails = await stage.webhook(receiver.url, { name: "Mails", event_types: ["mail.*"] });
  const page = await stage.inside();
  await stage.goto(page, "/inspector/deliveries");
  await page.getByText("No deliveries yet").waitFor();

  await stage.publishMany(orders, 120);
  const one = await stage.publish(mails, { type: "mail.sent", session_id: "s-1" });
  await stage.reaches(one, "delivered");
  await stage.count(orders, "delivered", 120);

  // Paging to the end shows each delivery once.
  await page.reload();
  const seen = new Set();
  for (;;) {
    for (const id of await rows(page).evaluateAll((all) => all.map((row) => row.dataset.key))) seen.add(id);
    const older = page.getByRole("link", { name: "Older" });
    if (!(await older.count())) break;
    await older.click();
  }
  assert.equal(seen.size, 121);
  await page.getByRole("link", { name: "Newest" }).click();
  assert.equal(await rows(page).count(), 50);

  // Each filter, and its query parameter.
  await page.getByLabel("Webhook", { exact: true }).selectOption({ label: "Mails" });
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForURL(/webhook_id=wh_/);
  assert.equal(await rows(page).count(), 1);
  const shared = await stage.inside();
  await shared.goto(page.url());
  assert.equal(await rows(shared).count(), 1, "the URL can be shared");
  await page.getByRole("link", { name: "Clear filters" }).click();
  await page.getByLabel("Session", { exact: true }).fill("s-1");
  await page.getByLabel("Session", { exact: true }).press("Enter");
  await page.waitForURL(/session_id=s-1/);
  assert.equal(await rows(page).count(), 1);
  for (const [query, count] of [
    ["event_type=mail.sent", 1], ["status=delivered", 50], ["status=dead", 0], ["status=delivered&webhook_id=" + mails.id, 1],
    ["from=2020-01-01T00:00&to=2021-01-01T00:00", 0], ["from=2020-01-01T00:00", 50],
  ]) {
    await stage.goto(page, `/inspector/deliveries?${query}`);
    assert.equal(await rows(page).count(), count, query);
  }
  await page.getByRole("link", { name: "Last hour" }).click();
  await page.waitForURL(/from=/);
  assert.equal(await rows(page).count(), 50);
  assert.notEqual(await page.getByLabel("From (UTC)").inputValue(), "");

  // At any width, no button of the filter bar is cut or covers something else.
  for (const width of [1100, 1280, 1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const path of ["/inspector/deliveries?status=dead", "/inspector/dead?event_type=mail.sent"]) {
      await stage.goto(page, path);
      const faults = await page.locator(".filters").evaluate((bar) => {
        bar.open = true;
        const parts = [...bar.querySelectorAll(".go > *, .ranges a")];
        const edge = bar.getBoundingClientRect().right;
        return parts.flatMap((part) => {
          const box = part.getBoundingClientRect();
          const overlaps = (other) => {
            const its = other.getBoundingClientRect();
            return other !== part && its.left < box.right && box.left < its.right && its.top < box.bottom && box.top < its.bottom;
          };
          const text = part.textContent;
          return [
            ...(part.matches(".go > *") && part.scrollWidth > part.clientWidth ? [`${text} is cut`] : []),
            ...(box.right > edge ? [`${text} is outside`] : []),
            ...(parts.some(overlaps) ? [`${text} overlaps`] : []),
          ];
        });
      });
      assert.deepEqual(faults, [], `${path}, ${width} wide`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });

  // Every invalid filter is reported.
  const invalid = await stage.goto(page, "/inspector/deliveries?status=lost&from=soon");
  assert.equal(invalid.status(), 400);
  assert.equal(await page.getByRole("alert").locator("li").count(), 2);

  // The search field.
  const find = async (text) => {
    await page.keyboard.press("Escape");
    await page.getByRole("searchbox").fill(text);
    await page.getByRole("searchbox").press("Enter");
  };
  await find(one);
  await page.waitForURL(new RegExp(`deliveries/${one}$`));
  await find(mails.id);
  await page.getByRole("heading", { name: "Mails" }).waitFor();
  await find("s-1");
  await page.waitForURL(/session_id=s-1/);
  const unknown = await stage.goto(page, "/inspector/deliveries/dlv_nothing");
  assert.equal(unknown.status(), 404);
  assert.equal((await stage.goto(page, "/inspector/nowhere")).status(), 404);
}
