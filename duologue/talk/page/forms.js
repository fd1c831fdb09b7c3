// Forms from JSON schemas, and JSON values in words.

let fieldCount = 0;

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function readable(name) {
  const text = String(name).replace(/_/g, " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// Returns {node, read}; read() gives the value, or undefined for a field that was left empty.
export function buildField(name, schema, isRequired) {
  const types = [schema.type ?? (schema.enum ? "string" : "json")].flat();
  const type = types.find((kind) => kind !== "null") ?? "string";
  if (type === "object" && schema.properties) return objectField(name, schema, isRequired);
  const id = `field-${(fieldCount += 1)}`;
  const build = schema.enum ? choice : { boolean: checkbox, integer: numeric, number: numeric, string: line }[type] ?? json;
  const { input, read } = build(id, schema, isRequired);
  const hint = schema.description ? el("small", { id: `${id}-hint`, text: schema.description }) : null;
  if (hint) input.setAttribute("aria-describedby", hint.id);
  const mark = isRequired && type !== "boolean" ? el("span", { class: "needed", title: "needed", text: " *" }) : null;
  const label = el("label", { for: id }, readable(name), mark);
  const parts = type === "boolean" ? [input, label] : [label, input];
  return { node: el("div", { class: type === "boolean" ? "field check" : "field" }, ...parts, hint), read };
}

export function buildFields(schema) {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, part]) => [name, buildField(name, part, required.has(name))]);
  const read = () => {
    const values = {};
    for (const [name, field] of fields) {
      const value = field.read();
      if (value !== undefined) values[name] = value;
    }
    return values;
  };
  return { nodes: fields.map(([, field]) => field.node), read };
}

function objectField(name, schema, isRequired) {
  const { nodes, read } = buildFields(schema);
  const hint = schema.description ? el("small", { text: schema.description }) : null;
  const node = el("fieldset", {}, el("legend", { text: readable(name) }), hint, ...nodes);
  return { node, read: () => { const value = read(); return isRequired || Object.keys(value).length ? value : undefined; } };
}

function choice(id, schema, isRequired) {
  const options = schema.enum.map((value, index) => el("option", { value: String(index) }, readable(value)));
  const blank = el("option", { value: "" }, isRequired ? "choose…" : "not given");
  const input = el("select", { id, required: isRequired }, blank, ...options);
  return { input, read: () => (input.value === "" ? undefined : schema.enum[Number(input.value)]) };
}

function checkbox(id) {
  const input = el("input", { id, type: "checkbox" });
  return { input, read: () => input.checked };
}

function numeric(id, schema, isRequired) {
  const isWhole = [schema.type].flat().includes("integer");
  const input = el("input", { id, type: "number", required: isRequired, step: isWhole ? "1" : "any", min: schema.minimum, max: schema.maximum });
  return { input, read: () => (input.value === "" ? undefined : Number(input.value)) };
}

function line(id, schema, isRequired) {
  const input = el("input", { id, type: "text", required: isRequired, autocomplete: "off", maxlength: schema.maxLength, pattern: schema.pattern });
  return { input, read: () => (input.value === "" ? undefined : input.value) };
}

function json(id, schema, isRequired) {
  const isList = [schema.type].flat().includes("array");
  const input = el("textarea", { id, rows: 2, required: isRequired, placeholder: isList ? "one entry a line, or JSON" : "JSON" });
  const read = () => {
    const text = input.value.trim();
    if (text === "") return undefined;
    input.setCustomValidity("");
    try {
      return JSON.parse(text);
    } catch (error) {
      if (isList) return text.split("\n").map((entry) => entry.trim()).filter(Boolean);
      input.setCustomValidity("not JSON");
      input.reportValidity();
      throw error;
    }
  };
  input.addEventListener("input", () => input.setCustomValidity(""));
  return { input, read };
}

export function renderValue(value) {
  if (value === true || value === false) return el("span", { class: value ? "on" : "off", text: value ? "on" : "off" });
  if (value === null || value === undefined || value === "") return el("span", { class: "none", text: "–" });
  if (Array.isArray(value) && value.every((item) => typeof item !== "object" || item === null)) {
    return value.length ? el("span", { text: value.join(", ") }) : el("span", { class: "none", text: "–" });
  }
  if (Array.isArray(value)) return el("div", {}, ...value.map((item) => renderValue(item)));
  if (typeof value === "object") return renderEntries(value);
  return el("span", { text: String(value) });
}

// before: the same object as it was, to mark what changed.
export function renderEntries(value, before) {
  const rows = Object.entries(value).flatMap(([key, item]) => {
    const isChanged = before !== undefined && JSON.stringify(before?.[key]) !== JSON.stringify(item);
    const mark = isChanged ? el("span", { class: "visually-hidden", text: " (changed)" }) : null;
    const isNested = typeof item === "object" && item !== null && Object.values(item).some((part) => !Array.isArray(item) || typeof part === "object");
    const style = [isChanged ? "changed" : "", isNested ? "nested" : ""].join(" ").trim() || null;
    return [el("dt", { class: isNested ? "nested" : null, text: readable(key) }), el("dd", { class: style }, renderValue(item), mark)];
  });
  return el("dl", { class: "values" }, ...rows);
}
