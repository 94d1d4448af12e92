// Builds the event pattern of a filter by form: one row per condition. The text stays the truth, and everything works without
// this script. A pattern that rows cannot express is edited as text.
"use strict";

(() => {
  // The operator's name in a pattern, its label, in the order of the list.
  const OPERATORS = [
    ["is", "is"], ["anything-but", "is not"], ["prefix", "starts with"], ["suffix", "ends with"], ["wildcard", "matches (* for any text)"],
    ["equals-ignore-case", "is, ignoring case"], ["=", "= number"], [">", "> number"], [">=", "≥ number"], ["<", "< number"], ["<=", "≤ number"],
    ["cidr", "is in the network"], ["present", "exists"], ["absent", "does not exist"],
  ];
  const NUMERIC = new Set(["=", ">", ">=", "<", "<="]);
  const TEXT = new Set(["prefix", "suffix", "wildcard", "equals-ignore-case", "cidr"]);
  const WITHOUT_VALUE = new Set(["present", "absent"]);
  const HELP = "All fields must match. Several conditions on the same field are alternatives. Write nested fields with dots: order.total";
  const isScalar = (value) => value === null || ["string", "number", "boolean"].includes(typeof value);

  // 5, true and null are values of their own; with quotes they are texts.
  const readScalar = (text) => {
    try {
      const value = JSON.parse(text);
      if (isScalar(value)) return value;
    } catch { /* Not JSON: a text. */ }
    return text;
  };
  const showScalar = (value) => {
    const plain = String(value);
    return typeof value === "string" && readScalar(plain) === plain ? plain : JSON.stringify(value);
  };

  const condition = ({ operator, value }) => {
    if (operator === "is") return readScalar(value);
    if (operator === "anything-but") return { "anything-but": readScalar(value) };
    if (NUMERIC.has(operator)) return { numeric: [operator, Number(value)] };
    if (WITHOUT_VALUE.has(operator)) return { exists: operator === "present" };
    return { [operator]: value };
  };
  // The row of a condition; `null` if no row can express it.
  const row = (path, written) => {
    if (isScalar(written)) return { path, operator: "is", value: showScalar(written) };
    const entries = Object.entries(written);
    if (entries.length !== 1 || Array.isArray(written)) return null;
    const [[name, value]] = entries;
    if (name === "anything-but" && isScalar(value)) return { path, operator: name, value: showScalar(value) };
    if (name === "exists" && typeof value === "boolean") return { path, operator: value ? "present" : "absent", value: "" };
    if (name === "numeric" && Array.isArray(value) && value.length === 2 && NUMERIC.has(value[0]) && typeof value[1] === "number")
      return { path, operator: value[0], value: String(value[1]) };
    return TEXT.has(name) && typeof value === "string" ? { path, operator: name, value } : null;
  };

  const rowsOf = (pattern, path = []) => {
    if (pattern === null || typeof pattern !== "object" || Array.isArray(pattern)) return null;
    const rows = [];
    for (const [name, value] of Object.entries(pattern)) {
      if (name === "" || name.includes(".") || name.startsWith("$")) return null;
      const here = [...path, name];
      const more = Array.isArray(value) ? value.map((one) => row(here.join("."), one)) : rowsOf(value, here);
      if (more === null || more.length === 0 || more.includes(null)) return null;
      rows.push(...more);
    }
    return rows;
  };
  const read = (text) => {
    if (text.trim() === "") return [];
    try { return rowsOf(JSON.parse(text)); } catch { return null; }
  };

  // `null` if a field is both a value and an object.
  const patternOf = (rows) => {
    const pattern = {};
    for (const one of rows) {
      const names = one.path.split(".").map((name) => name.trim()).filter((name) => name !== "");
      if (names.length === 0) continue;
      const last = names.pop();
      let here = pattern;
      for (const name of names) {
        if (Array.isArray(here[name])) return null;
        here = here[name] ??= {};
      }
      if (here[last] !== undefined && !Array.isArray(here[last])) return null;
      (here[last] ??= []).push(condition(one));
    }
    return pattern;
  };

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };

  const start = (form, text) => {
    const list = element("div", { class: "conditions" });
    const note = element("p", { class: "hint", role: "status" });
    const add = element("button", { type: "button", class: "quiet small" }, "Add condition");
    form.append(list, note, element("p", {}, add));
    form.hidden = false;

    const values = () => Array.from(list.children, (line) => ({
      path: line.querySelector("[data-path]").value,
      operator: line.querySelector("select").value,
      value: line.querySelector("[data-value]").value,
    }));
    const write = () => {
      const pattern = patternOf(values());
      note.textContent = pattern === null ? "A field cannot have a value and fields of its own at the same time." : HELP;
      if (pattern === null) return;
      text.value = Object.keys(pattern).length === 0 ? "" : JSON.stringify(pattern, null, 2);
    };
    const number = () => Array.from(list.children).forEach((line, index) => {
      const names = [["[data-path]", "Field"], ["select", "Operator"], ["[data-value]", "Value"], ["button", "Remove"]];
      for (const [selector, name] of names) line.querySelector(selector).setAttribute("aria-label", `${name} of condition ${index + 1}`);
    });
    const append = ({ path, operator, value }) => {
      const choices = OPERATORS.map(([name, label]) => element("option", { value: name }, label));
      const choice = element("select", {}, ...choices);
      choice.value = operator;
      const field = element("input", { "data-path": "", placeholder: "order.total", spellcheck: "false", autocomplete: "off" });
      const given = element("input", { "data-value": "", spellcheck: "false", autocomplete: "off" });
      [field.value, given.value] = [path, value];
      const remove = element("button", { type: "button", class: "quiet small" }, "Remove");
      const line = element("div", {}, field, choice, given, remove);
      const settle = () => { given.disabled = WITHOUT_VALUE.has(choice.value); };
      line.addEventListener("input", () => { settle(); write(); });
      remove.addEventListener("click", () => { line.remove(); number(); write(); add.focus(); });
      settle();
      list.append(line);
      number();
      return field;
    };
    const show = () => {
      const rows = read(text.value);
      list.replaceChildren();
      add.hidden = rows === null;
      note.textContent = rows === null ? "The form cannot show this pattern: edit it as text." : HELP;
      for (const one of rows ?? []) append(one);
    };
    add.addEventListener("click", () => append({ path: "", operator: "is", value: "" }).focus());
    // Without Enter, which would save the webhook.
    list.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.tagName === "INPUT") { event.preventDefault(); add.click(); }
    });
    text.addEventListener("input", show);
    show();
  };

  document.addEventListener("DOMContentLoaded", () => {
    const form = document.querySelector("#filter-form"), text = document.querySelector("#filter");
    if (form && text) start(form, text);
  });
})();
