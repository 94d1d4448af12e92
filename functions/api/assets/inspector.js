// What pages do by themselves. Everything works without it, but for live changes and the keyboard.
"use strict";

const root = document.documentElement;
const remembered = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
if (remembered()) root.dataset.theme = remembered();

const $ = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));

// Times: told as people say them, in their own zone; the exact one in both zones on demand.
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const UNITS = [["second", 60], ["minute", 60], ["hour", 24]];

const told = (at) => {
  let span = (at - Date.now()) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(span) < size) return words.format(Math.round(span), unit);
    span /= size;
  }
  return day.format(at);
};
const tellTimes = (within = document) => {
  for (const time of all("time[datetime]", within)) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.textContent = told(at);
    time.title = `${exact.format(at)} (${time.dateTime})`;
  }
};

// Live: something happened, so the page is fetched again, and only what differs is put in. The server bounds what a page
// holds, so a page that is left open does not grow.
const asSent = new WeakMap();
const PAUSE = 2000, PATIENCE = 15000, OLDEST = 300000, SLEPT = 60000;
let source = null, pending = null, fetching = false, again = false, ended = false;
let lastLook = 0, lastSeen = Date.now(), lastTick = Date.now(), failures = 0;

const keyed = (within) => all("[data-key]", within);
const note = (part) => {
  asSent.set(part, part.innerHTML);
  for (const item of keyed(part)) asSent.set(item, item.innerHTML);
};
const say = (text, state) => {
  const live = $("#live");
  if (!live) return;
  live.hidden = false;
  live.className = `live ${state}`;
  live.textContent = text;
};

const takeOver = (part, fresh) => {
  if (asSent.get(part) === fresh.innerHTML) return;
  const html = fresh.innerHTML;
  const old = new Map(keyed(part).map((item) => [item.dataset.key, item]));
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  const focusKey = focused?.closest("[data-key]")?.dataset.key;
  for (const item of keyed(fresh)) {
    const known = old.get(item.dataset.key);
    const sent = item.innerHTML;
    if (known && asSent.get(known) === sent) {
      item.replaceWith(known);
      known.classList.remove("fresh");
      continue;
    }
    asSent.set(item, sent);
    if (known) {
      const [was, is] = [$("input[type=checkbox]", known), $("input[type=checkbox]", item)];
      if (was && is) is.checked = was.checked;
      const [open, opens] = [$("details[open]", known), $("details", item)];
      if (open && opens) opens.open = true;
    }
    if (old.size) item.classList.add("fresh");
    tellTimes(item);
  }
  part.replaceChildren(...fresh.childNodes);
  for (const name of ["data-soon"]) part.toggleAttribute(name, fresh.hasAttribute(name));
  asSent.set(part, html);
  tellTimes(part);
  countTicks();
  if (focused && !focused.isConnected) {
    const line = focusKey && keyed(part).find((item) => item.dataset.key === focusKey);
    (line && $("a.open, a, button", line))?.focus({ preventScroll: true });
  } else focused?.focus({ preventScroll: true });
};

const look = async () => {
  clearTimeout(pending);
  pending = null;
  if (fetching) { again = true; return; }
  fetching = true;
  lastLook = Date.now();
  // A connection may have died without a word, while the machine slept.
  const given = new AbortController();
  const patience = setTimeout(() => given.abort(), PATIENCE);
  try {
    const answer = await fetch(location.href.split("#")[0], { headers: { accept: "text/html" }, signal: given.signal });
    if (answer.redirected && new URL(answer.url).pathname === "/inspector/login") return over();
    if (answer.status === 404) return gone();
    if (answer.status >= 500) throw new Error(answer.statusText);
    if (failures && source?.readyState === EventSource.OPEN) say("Live", "on");
    failures = 0;
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    lastSeen = Date.now();
    if (page.body.dataset.live) document.body.dataset.live = page.body.dataset.live;
    // A menu that is open would vanish under the reader's hand.
    for (const part of all("[data-part]")) {
      const fresh = $(`[data-part="${part.dataset.part}"]`, page);
      if (fresh && !$(".ask[open]", part)) takeOver(part, fresh);
    }
  } catch {
    // The gateway is away, or has trouble: what is shown is old, and is looked at again, less and less often.
    failures += 1;
    say("No answer: this may be old. Looking again…", "off");
    if (!document.hidden) pending ??= setTimeout(look, backoff(failures));
  } finally {
    clearTimeout(patience);
    fetching = false;
    if (again) { again = false; soon(); }
    if ($("[data-soon]") && !document.hidden && source) soon();
  }
};
const backoff = (times) => Math.min(60, 2 ** times) * 1000;
const soon = () => {
  pending ??= setTimeout(look, Math.max(250, lastLook + PAUSE - Date.now()));
};
const quiet = () => {
  source?.close();
  source = null;
  clearTimeout(opening);
  clearTimeout(missing);
  missing = null;
  clearTimeout(pending);
  pending = null;
  again = false;
};
const over = () => {
  quiet();
  ended = true;
  say("The session is over. ", "off");
  const here = location.pathname + location.search;
  const link = Object.assign(document.createElement("a"), { href: `/inspector/login?next=${encodeURIComponent(here)}`, textContent: "Log in" });
  $("#live")?.append(link);
};
const gone = () => {
  quiet();
  ended = true;
  say("This was removed meanwhile", "off");
};

const KINDS = ["delivery.delivered", "delivery.failed", "delivery.dead", "delivery.requeued", "webhook.degraded", "webhook.failed",
  "webhook.resumed", "webhook.paused", "webhook.disabled", "inbound.accepted", "inbound.unrouted", "inbound.signature_failed",
  "inbound.too_large"];
// A stream may end after each answer and be asked again at once, as on AWS: only one that stays away is missed.
const MISSED_AFTER = 6000;
let tries = 0, opening = null, missing = null, missed = false;
const miss = () => {
  missing = null;
  missed = true;
  say("Connecting again…", "off");
};

// Whoever comes back gets a connection that may have died meanwhile, and is told nothing.
const expect = () => {
  clearTimeout(opening);
  opening = setTimeout(() => { source?.close(); source = null; listen(); }, PATIENCE);
  missing ??= setTimeout(miss, MISSED_AFTER);
};

const listen = () => {
  if (source || ended || document.hidden || !("live" in document.body.dataset)) return;
  expect();
  source = new EventSource(`/inspector/stream?after=${document.body.dataset.live}`);
  const about = $("[data-about]")?.dataset.about;
  const heard = (event) => { if (!about || event.data.includes(about)) soon(); };
  for (const kind of KINDS) source.addEventListener(kind, heard);
  source.onopen = () => {
    clearTimeout(opening);
    clearTimeout(missing);
    missing = null;
    // What happened meanwhile is looked for in the page: the stream may not reach so far back.
    if (missed) soon();
    missed = false;
    tries = 0;
    say("Live", "on");
  };
  source.onerror = async () => {
    if (!source) return;
    expect();
    if (source.readyState !== EventSource.CLOSED) return;
    source = null;
    tries += 1;
    const session = await fetch("/inspector/session").catch(() => null);
    if (session?.status === 401) return over();
    clearTimeout(opening);
    opening = setTimeout(listen, backoff(tries));
  };
};
// The stream may be dead without knowing it: after a sleep it is opened anew, and nothing that is shown gets very old.
const wake = () => {
  quiet();
  ended = false;
  if (document.hidden || !("live" in document.body.dataset)) return;
  soon();
  listen();
};
const tick = () => {
  const slept = Date.now() - lastTick > SLEPT;
  lastTick = Date.now();
  if (document.hidden) return;
  tellTimes();
  if (ended || !("live" in document.body.dataset)) return;
  if (slept) wake();
  else if (Date.now() - lastSeen > OLDEST) soon();
};
document.addEventListener("visibilitychange", wake);
window.addEventListener("online", wake);

// Ticked lines.
const ticks = () => all("td.tick input");
const countTicks = () => {
  const boxes = ticks(), ticked = boxes.filter((box) => box.checked).length;
  const [button, number, every] = [$("#retry-selected"), $("#ticked"), $("#all")];
  if (!button) return;
  button.disabled = ticked === 0;
  number.textContent = ticked ? `(${ticked})` : "";
  every.checked = ticked > 0 && ticked === boxes.length;
  every.indeterminate = ticked > 0 && ticked < boxes.length;
};
document.addEventListener("change", (event) => {
  if (event.target.id === "all") for (const box of ticks()) box.checked = event.target.checked;
  if (event.target.matches("#all, td.tick input")) countTicks();
});

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const text = document.getElementById(copy.dataset.copy).textContent;
    try { await navigator.clipboard.writeText(text); copy.textContent = "Copied"; } catch { copy.textContent = "Not allowed"; }
  }
  for (const menu of all(".ask[open]")) if (!menu.contains(event.target)) menu.open = false;
  if (event.target.closest("#help-open")) $("#help").showModal();
  if (event.target.closest("#theme")) {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* It lasts until the next page then. */ }
  }
});
// A form that was sent is not sent again by a second click.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "1";
});
window.addEventListener("pageshow", () => { for (const form of all("form[data-sent]")) delete form.dataset.sent; });

// The keyboard.
let going = 0;
const move = (by) => {
  const lines = all("[data-lines] a.open");
  const here = lines.findIndex((line) => line.closest("tr").contains(document.activeElement));
  const there = here < 0 ? (by > 0 ? 0 : lines.length - 1) : here + by;
  lines[Math.max(0, Math.min(lines.length - 1, there))]?.focus();
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    for (const menu of all(".ask[open]")) menu.open = false;
    if (event.target.id === "q") event.target.blur();
    return;
  }
  if (event.target.closest("input:not([type=checkbox]), select, textarea, dialog")) return;
  if (Date.now() - going < 2000) {
    going = 0;
    const link = $(`nav a[data-go="${CSS.escape(event.key)}"]`);
    if (link) { event.preventDefault(); link.click(); return; }
  }
  const act = {
    "/": () => $("#q")?.focus(),
    "?": () => $("#help")?.showModal(),
    j: () => move(1),
    k: () => move(-1),
    x: () => $("td.tick input", document.activeElement?.closest("tr") ?? document.createElement("i"))?.click(),
    g: () => { going = Date.now(); },
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

document.addEventListener("DOMContentLoaded", () => {
  for (const part of all("[data-part]")) note(part);
  tellTimes();
  setInterval(tick, 20000);
  countTicks();
  // On a phone the conditions would be all that is seen.
  const conditions = $("#conditions");
  if (conditions && !("used" in conditions.dataset) && matchMedia("(max-width: 800px)").matches) conditions.open = false;
  // What an action came to is said once: loading the page again, or sharing its address, does not repeat it.
  const address = new URL(location.href);
  if (["done", "n", "failed"].filter((name) => address.searchParams.has(name)).length) {
    for (const name of ["done", "n", "failed"]) address.searchParams.delete(name);
    history.replaceState(null, "", address);
  }
  // On a phone the menu is wider than the screen.
  const nav = $(".side nav"), here = $("a[aria-current]", nav ?? document);
  if (nav && here) nav.scrollLeft = here.offsetLeft - (nav.clientWidth - here.offsetWidth) / 2;
  listen();
  if ($("[data-soon]")) soon();
  $("#once")?.requestSubmit();
  // A link from another site comes without the cookie; from here it is sent.
  if ($("#login")) fetch("/inspector/session").then((answer) => {
    const next = new URL(location.href).searchParams.get("next");
    if (answer.status === 204) location.replace(next?.startsWith("/inspector") ? next : "/inspector");
  }).catch(() => {});
});
