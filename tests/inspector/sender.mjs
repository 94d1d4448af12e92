// Senders that sign like their providers, with Node's own HMAC.
import { createHmac } from "node:crypto";

const hmac = (secret, text) => createHmac("sha256", secret).update(text).digest("hex");

/** Posts like GitHub; `sent` replaces the signed body. */
export async function github(url, secret, body, { event = "push", sent = body, headers = {} } = {}) {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "x-github-event": event, "x-github-delivery": crypto.randomUUID(), "x-hub-signature-256": `sha256=${hmac(secret, body)}`, ...headers },
    body: sent,
  });
}

/** Posts like Stripe, with a signature from `secondsAgo`. */
export async function stripe(url, secret, body, { secondsAgo = 0 } = {}) {
  const time = Math.floor(Date.now() / 1000) - secondsAgo;
  const headers = { "content-type": "application/json", "stripe-signature": `t=${time},v1=${hmac(secret, `${time}.${body}`)}` };
  return fetch(url, { method: "POST", headers, body });
}
