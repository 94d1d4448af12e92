// Logging in with a key or a one-time link, the session cookie, logging out.
import { assert, until } from "../stage.mjs";

export default async function (stage) {
  const page = await stage.page();
  await stage.goto(page, "/");
  assert.equal(new URL(page.url()).pathname, "/inspector/login", "a browser is redirected to the Inspector");

  const enter = async (token) => {
    await page.getByLabel("API key").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
  };
  await enter("prk_wrong");
  await page.getByRole("alert").getByText("Unknown or revoked API key").waitFor();
  await enter(await stage.key("publisher", ["publish"]));
  await page.getByRole("alert").getByText("can only publish events").waitFor();

  // After the login the requested page opens.
  await stage.goto(page, "/inspector/deliveries?status=dead&session_id=a%26b");
  await enter(stage.token);
  await page.getByRole("heading", { name: "Deliveries" }).waitFor();
  assert.equal(await page.getByLabel("Session", { exact: true }).inputValue(), "a&b");

  const [cookie] = await page.context().cookies();
  assert.equal(cookie.name, "postrider_session");
  assert(cookie.httpOnly && cookie.sameSite === "Strict", "no script and no other site may read it");
  assert(!cookie.value.includes(stage.token), "the cookie is not the key");
  const hours = (cookie.expires - Date.now() / 1000) / 3600;
  assert(hours > 11 && hours < 12.1, `it expires: ${hours}`);

  // A modified cookie is not a session.
  const forged = cookie.value.slice(0, -2) + (cookie.value.endsWith("A") ? "BB" : "AA");
  await page.context().addCookies([{ ...cookie, value: forged }]);
  await stage.goto(page, "/inspector");
  assert.equal(new URL(page.url()).pathname, "/inspector/login");
  await page.context().addCookies([cookie]);
  await stage.goto(page, "/inspector");
  await page.getByRole("heading", { name: "Overview" }).waitFor();

  // A request from another site is rejected.
  const foreign = await fetch(`${stage.calls}/inspector/logout`, { method: "POST", headers: { origin: "https://evil.example", cookie: `postrider_session=${cookie.value}` } });
  assert.equal(foreign.status, 403);

  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("API key").waitFor();
  await stage.goto(page, "/inspector/keys");
  assert.equal(new URL(page.url()).pathname, "/inspector/login");

  // A copy of the cookie is worth nothing after the logout.
  await page.context().addCookies([cookie]);
  await stage.goto(page, "/inspector/keys");
  assert.equal(new URL(page.url()).pathname, "/inspector/login", "the session ended on the server");

  // The link works once.
  if (stage.login) {
    const fresh = await stage.page();
    await fresh.goto(stage.login);
    await fresh.getByRole("heading", { name: "Overview" }).waitFor();
    const late = await stage.page();
    await late.goto(stage.login);
    await late.getByRole("alert").getByText("already been used").waitFor();
  }

  // Revoking the key ends its sessions.
  const temporary = await stage.api("POST", "/v1/keys", { name: "temporary", scopes: ["read"] });
  const guest = await stage.inside({}, temporary.token);
  await stage.api("DELETE", `/v1/keys/${temporary.id}`);
  // On AWS each function caches keys for a few seconds.
  const isOut = async () => {
    await guest.reload();
    return new URL(guest.url()).pathname === "/inspector/login";
  };
  await until(isOut, "a session ends with its key");
}
