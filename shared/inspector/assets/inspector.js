// Live updates and keyboard shortcuts. Everything else works without this script.
"use strict";

const root = document.documentElement;
const remembered = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
if (remembered()) root.dataset.theme = remembered();

// The site that this page belongs to: the Inspector or the portal.
const home = () => document.body.dataset.home;

const $ = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));

// Times are shown relative to now, with the exact time in the reader's zone and in UTC as a tooltip.
const relativeFormat = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const UNITS = [["second", 60], ["minute", 60], ["hour", 24]];

const relative = (at) => {
  let span = (at - Date.now()) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(span) < size) return relativeFormat.format(Math.round(span), unit);
    span /= size;
  }
  return day.format(at);
};
const showTimes = (within = document) => {
  for (const time of all("time[datetime]", within)) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.textContent = relative(at);
    time.title = `${exact.format(at)} (${time.dateTime})`;
  }
};

// Live updates: on a notification the page is fetched again, and only what differs is replaced. The server limits the size
// of a page, so an open page does not grow.
const asSent = new WeakMap();
const GAP = 6000, PAUSE = 2000, TIMEOUT = 15000, MAX_AGE = 300000, SLEPT = 60000;
let source = null, pending = null, fetching = false, again = false, ended = false;
let lastRefresh = 0, lastLoaded = Date.now(), lastTick = Date.now(), failures = 0;

const keyed = (within) => all("[data-key]", within);
const remember = (part) => {
  asSent.set(part, part.innerHTML);
  for (const item of keyed(part)) asSent.set(item, item.innerHTML);
};
const setLive = (text, state) => {
  const live = $("#live");
  if (!live) return;
  live.hidden = false;
  live.className = `live ${state}`;
  live.textContent = text;
};

const update = (part, fresh) => {
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
    showTimes(item);
  }
  part.replaceChildren(...fresh.childNodes);
  for (const name of ["data-soon"]) part.toggleAttribute(name, fresh.hasAttribute(name));
  asSent.set(part, html);
  showTimes(part);
  countSelected();
  if (focused && !focused.isConnected) {
    const row = focusKey && keyed(part).find((item) => item.dataset.key === focusKey);
    (row && $("a.open, a, button", row))?.focus({ preventScroll: true });
  } else focused?.focus({ preventScroll: true });
};

const refresh = async () => {
  clearTimeout(pending);
  pending = null;
  if (fetching) { again = true; return; }
  fetching = true;
  lastRefresh = Date.now();
  // A connection may have died silently while the machine slept.
  const abort = new AbortController();
  const timeout = setTimeout(() => abort.abort(), TIMEOUT);
  try {
    const response = await fetch(location.href.split("#")[0], { headers: { accept: "text/html" }, signal: abort.signal });
    if (response.redirected && new URL(response.url).pathname === `${home()}/login`) return sessionEnded();
    if (response.status === 404) return gone();
    if (response.status >= 500) throw new Error(response.statusText);
    if (failures && source?.readyState === EventSource.OPEN) setLive("Live", "on");
    failures = 0;
    if (!response.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    lastLoaded = Date.now();
    if (page.body.dataset.live) document.body.dataset.live = page.body.dataset.live;
    // An open menu must not disappear while it is in use.
    for (const part of all("[data-part]")) {
      const fresh = $(`[data-part="${part.dataset.part}"]`, page);
      if (fresh && !$(".ask[open]", part)) update(part, fresh);
    }
  } catch {
    // The gateway is unreachable or failing: try again, with growing delays.
    failures += 1;
    setLive("No response from the gateway. Data may be out of date.", "off");
    if (!document.hidden) pending ??= setTimeout(refresh, backoff(failures));
  } finally {
    clearTimeout(timeout);
    fetching = false;
    if (again) { again = false; soon(); }
    if ($("[data-soon]") && source) soon();
  }
};
const backoff = (times) => Math.min(60, 2 ** times) * 1000;
const soon = () => {
  // A hidden page catches up when it is visible again.
  if (document.hidden) return;
  pending ??= setTimeout(refresh, Math.max(250, lastRefresh + PAUSE - Date.now()));
};
const disconnect = () => {
  source?.close();
  source = null;
  clearTimeout(opening);
  clearTimeout(missing);
  missing = null;
  clearTimeout(pending);
  pending = null;
  again = false;
};
const sessionEnded = () => {
  disconnect();
  ended = true;
  setLive("Your session has ended. ", "off");
  const here = location.pathname + location.search;
  const isPortal = home() === "/portal";
  const back = document.body.dataset.return;
  const link = isPortal && back ? { href: back, target: "_top", rel: "noreferrer", textContent: "Back" }
    : isPortal ? null : { href: `/inspector/login?next=${encodeURIComponent(here)}`, textContent: "Log in" };
  if (link) $("#live")?.append(Object.assign(document.createElement("a"), link));
};
const gone = () => {
  disconnect();
  ended = true;
  setLive("This page no longer exists", "off");
};

// On AWS a stream ends after each response and is reopened at once, so only a longer gap counts as disconnected.
const MISSED_AFTER = 6000;
let tries = 0, opening = null, missing = null, missed = false;
const miss = () => {
  missing = null;
  missed = true;
  setLive("Reconnecting…", "off");
};

// A stream that does not open in time is opened again: the browser does not report a connection that died silently.
const expect = () => {
  clearTimeout(opening);
  opening = setTimeout(() => { source?.close(); source = null; listen(); }, TIMEOUT);
  missing ??= setTimeout(miss, MISSED_AFTER);
};

const listen = () => {
  if (source || ended || document.hidden || !("live" in document.body.dataset)) return;
  expect();
  source = new EventSource(`${home()}/stream?after=${document.body.dataset.live}`);
  const about = $("[data-about]")?.dataset.about;
  const notified = (event) => { if (!about || event.data.includes(about)) soon(); };
  for (const kind of document.body.dataset.kinds.split(" ")) source.addEventListener(kind, notified);
  // Changes are missing from the stream. On AWS it may take a few seconds until it has all of them again.
  source.addEventListener("gap", () => { soon(); setTimeout(soon, GAP); });
  source.onopen = () => {
    clearTimeout(opening);
    clearTimeout(missing);
    missing = null;
    // Reload after a gap: the stream may not reach back far enough.
    if (missed) soon();
    missed = false;
    tries = 0;
    setLive("Live", "on");
  };
  source.onerror = async () => {
    if (!source) return;
    expect();
    if (source.readyState !== EventSource.CLOSED) return;
    source = null;
    tries += 1;
    const session = await fetch(`${home()}/session`).catch(() => null);
    if (session?.status === 401) return sessionEnded();
    clearTimeout(opening);
    opening = setTimeout(listen, backoff(tries));
  };
};
// After the machine slept the stream may be dead without an error, so it is reopened; and no page gets older than MAX_AGE.
const wake = () => {
  disconnect();
  ended = false;
  if (document.hidden || !("live" in document.body.dataset)) return;
  soon();
  listen();
};
const tick = () => {
  const slept = Date.now() - lastTick > SLEPT;
  lastTick = Date.now();
  if (document.hidden) return;
  showTimes();
  if (ended || !("live" in document.body.dataset)) return;
  if (slept) wake();
  else if (Date.now() - lastLoaded > MAX_AGE) soon();
};
document.addEventListener("visibilitychange", wake);
window.addEventListener("online", wake);

// Selected rows.
const boxes = () => all("td.select input");
const countSelected = () => {
  const inputs = boxes(), selected = inputs.filter((box) => box.checked).length;
  const [button, number, every] = [$("#retry-selected"), $("#selected-count"), $("#all")];
  if (!button) return;
  button.disabled = selected === 0;
  number.textContent = selected ? `(${selected})` : "";
  every.checked = selected > 0 && selected === inputs.length;
  every.indeterminate = selected > 0 && selected < inputs.length;
};
document.addEventListener("change", (event) => {
  if (event.target.id === "all") for (const box of boxes()) box.checked = event.target.checked;
  if (event.target.matches("#all, td.select input")) countSelected();
});

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const text = document.getElementById(copy.dataset.copy).textContent;
    try { await navigator.clipboard.writeText(text); copy.textContent = "Copied"; } catch { copy.textContent = "Copy failed"; }
  }
  for (const menu of all(".ask[open]")) if (!menu.contains(event.target)) menu.open = false;
  if (event.target.closest("#help-open")) $("#help").showModal();
  if (event.target.closest("#theme")) {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* Then it applies only to this page. */ }
  }
});
// A second click does not submit a form twice.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "1";
});
window.addEventListener("pageshow", () => { for (const form of all("form[data-sent]")) delete form.dataset.sent; });

// Keyboard shortcuts.
let going = 0;
const move = (by) => {
  const rows = all("[data-rows] a.open");
  const here = rows.findIndex((row) => row.closest("tr").contains(document.activeElement));
  const next = here < 0 ? (by > 0 ? 0 : rows.length - 1) : here + by;
  rows[Math.max(0, Math.min(rows.length - 1, next))]?.focus();
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
    x: () => $("td.select input", document.activeElement?.closest("tr") ?? document.createElement("i"))?.click(),
    g: () => { going = Date.now(); },
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// In a frame, the page tells the site that embeds it how high it is; the site can then make the frame as high. Only the
// sites that may embed it are told.
const tellHeight = () => {
  const allowed = document.body.dataset.embedders?.split(" ") ?? [];
  if (!allowed.length || window.parent === window) return;
  const parent = location.ancestorOrigins?.[0];
  const told = parent ? allowed.filter((origin) => origin === parent) : allowed;
  const tell = () => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    for (const origin of told) window.parent.postMessage({ type: "postrider.portal.height", height }, origin);
  };
  root.classList.add("framed");
  new ResizeObserver(tell).observe(document.body);
  tell();
};

document.addEventListener("DOMContentLoaded", () => {
  tellHeight();
  for (const part of all("[data-part]")) remember(part);
  showTimes();
  setInterval(tick, 20000);
  countSelected();
  // On a phone open filters would fill the screen.
  const filters = $("#filters");
  if (filters && !("used" in filters.dataset) && matchMedia("(max-width: 800px)").matches) filters.open = false;
  // The result of an action is shown once, and not again after a reload or on a shared URL.
  const url = new URL(location.href);
  if (["done", "n", "failed"].filter((name) => url.searchParams.has(name)).length) {
    for (const name of ["done", "n", "failed"]) url.searchParams.delete(name);
    history.replaceState(null, "", url);
  }
  // On a phone the menu is wider than the screen: show the current entry.
  const nav = $(".side nav"), here = $("a[aria-current]", nav ?? document);
  if (nav && here) nav.scrollLeft = here.offsetLeft - (nav.clientWidth - here.offsetWidth) / 2;
  listen();
  if ($("[data-soon]")) soon();
  $("#once:not([data-confirm])")?.requestSubmit();
  // A request that follows a link from another site has no cookie, but a request from this page has.
  if ($("#login")) fetch("/inspector/session").then((response) => {
    const next = new URL(location.href).searchParams.get("next");
    if (response.status === 204) location.replace(next?.startsWith("/inspector") ? next : "/inspector");
  }).catch(() => {});
});
