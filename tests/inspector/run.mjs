#!/usr/bin/env node
// Run as `node tests/inspector/run.mjs <case> <url> <token> [<one-time link>]`, against a gateway that runs. `CALLS` is
// where its API is called, if only a browser finds the URL.

import { Stage } from "./stage.mjs";

const [name, url, token, login] = process.argv.slice(2);
const { default: play } = await import(`./cases/${name}.mjs`);
const stage = new Stage(url, token, login, process.env.CALLS);
try {
  await play(stage);
} finally {
  await stage.close();
}
