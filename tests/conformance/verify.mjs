#!/usr/bin/env node
// Run as `node tests/conformance/verify.mjs` (`make setup` installs the library, which is found from where this file
// stands, whatever the working directory); JSON lines in, JSON lines out.
//
// In:  {"secret": "whsec_…", "headers": {"webhook-id": "…", "webhook-timestamp": "…", "webhook-signature": "…"},
//       "body_base64": "…"}
// Out: {"ok": true} or {"ok": false, "error": "…"}, one line per line read, in order.
//
// The Standard Webhooks headers are verified by the standardwebhooks library, as a receiver would; it accepts timestamps
// within five minutes of now and bodies in UTF-8. An `x-observatory-signature` header is verified as well if there is
// one: `sha256=<hex>`, HMAC-SHA256 of the body keyed with the whole secret string.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(new URL("../../.tools/node/package.json", import.meta.url));
const { Webhook } = require("standardwebhooks");

function verify({ secret, headers: given, body_base64 }) {
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
  const body = Buffer.from(body_base64, "base64");

  new Webhook(secret).verify(body, headers, { jsonParse: false });

  const signature = headers["x-observatory-signature"];
  if (signature !== undefined) {
    const expected = Buffer.from(`sha256=${createHmac("sha256", secret).update(body).digest("hex")}`);
    const actual = Buffer.from(signature);
    if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) {
      throw new Error("x-observatory-signature does not match");
    }
  }
}

// Whatever goes wrong is an answer: a caller that gets one line per line never waits for a dead process.
function answer(line) {
  try {
    verify(JSON.parse(line));
    return { ok: true };
  } catch (error) {
    return { ok: false, error: String(error?.message || error) };
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line.trim()) {
    process.stdout.write(`${JSON.stringify(answer(line))}\n`);
  }
}
