#!/usr/bin/env node
// Run as `node tests/inspector/run.mjs <case> <url> <token> [<one-time link>]` against a running gateway. `CALLS` is the
// API's URL, if only a browser can resolve `<url>`; `CUSTOMER` is the tenant of the cases with a customer.

import { Stage } from "./stage.mjs";

const [name, url, token, login] = process.argv.slice(2);
const { default: play } = await import(`./cases/${name}.mjs`);
const stage = new Stage(url, token, login, process.env.CALLS, process.env.CUSTOMER);
try {
  await play(stage);
} finally {
  await stage.close();
}
