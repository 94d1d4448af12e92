#!/usr/bin/env node
// Run as `node tests/conformance/libraries.mjs` (`make setup` installs the libraries, which are found relative to this
// file, whatever the working directory). Lines in and out are those of libraries.py.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../../.tools/node/package.json", import.meta.url));
const { Webhooks } = await import(pathToFileURL(require.resolve("@octokit/webhooks")));
const { Webhook } = require("standardwebhooks");
const Stripe = require("stripe");

function mustBe(isGenuine) {
  if (!isGenuine) {
    throw new Error("the library does not take it for genuine");
  }
}

const octokit = {
  sign: async ({ secret, body }) => ({ "x-hub-signature-256": await new Webhooks({ secret }).sign(body) }),
  verify: async ({ secret, body, headers }) =>
    mustBe(await new Webhooks({ secret }).verify(body, headers["x-hub-signature-256"])),
};

const stripe = {
  sign: ({ secret, body, at }) => ({
    "stripe-signature": Stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: at }),
  }),
  verify: ({ secret, body, headers }) =>
    mustBe(Stripe.webhooks.constructEvent(body, headers["stripe-signature"], secret).type),
};

const standardwebhooks = {
  sign: ({ secret, body, id, at }) => ({
    "webhook-id": id,
    "webhook-timestamp": String(at),
    "webhook-signature": new Webhook(secret).sign(id, new Date(at * 1000), body),
  }),
  verify: ({ secret, body, headers }) => {
    new Webhook(secret).verify(Buffer.from(body), headers, { jsonParse: false });
  },
};

// Without a library: `sha256=<hex>` over the body, keyed with the whole secret, as the README says.
const plain = {
  verify: ({ secret, body, headers }) => {
    const expected = Buffer.from(`sha256=${createHmac("sha256", secret).update(body).digest("hex")}`);
    const given = Buffer.from(headers["x-observatory-signature"]);
    mustBe(given.length === expected.length && timingSafeEqual(given, expected));
  },
};

const libraries = { "@octokit/webhooks": octokit, plain, standardwebhooks, stripe };

// Every error is answered: a caller that gets one line per line never waits for a dead process.
async function answer(line) {
  try {
    const asked = JSON.parse(line);
    const library = libraries[asked.library];
    if (asked.do === "sign") {
      return { ok: true, headers: await library.sign(asked), url: asked.url };
    }
    await library.verify(asked);
    return { ok: true };
  } catch (error) {
    return { ok: false, error: String(error?.message || error) };
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line.trim()) {
    process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
  }
}
