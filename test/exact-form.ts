/**
 * A text that two values share only when they are the same in every way that is
 * promised to survive: kinds, order of keys, own "__proto__", -0, invalid
 * dates, Buffer or Uint8Array, with or without a prototype. Written apart from
 * the codec on purpose: it is what the codec is held against.
 */
export function exactForm(value: unknown): string {
  if (typeof value === "number") return Object.is(value, -0) ? "number -0" : `number ${value}`;
  if (typeof value === "string") return `string ${charCodes(value)}`;
  if (typeof value !== "object" || value === null) return `${typeof value} ${String(value)}`;
  if (Array.isArray(value)) return `array [${value.map(exactForm).join(", ")}]`;
  if (value instanceof Date) return `date ${value.getTime()}`;
  if (value instanceof Map) {
    return `map [${[...value].map(([key, item]) => `${exactForm(key)} => ${exactForm(item)}`).join(", ")}]`;
  }
  if (value instanceof Set) return `set [${[...value].map(exactForm).join(", ")}]`;
  if (Buffer.isBuffer(value)) return `buffer ${value.toString("hex")}`;
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString("hex")}`;
  const kind =
    Object.getPrototypeOf(value) === null ? "bare" : `object of ${Object.getPrototypeOf(value).constructor.name}`;
  const members = Reflect.ownKeys(value).map((key) => {
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    return `${exactForm(key)}: ${exactForm(descriptor?.value)}`;
  });
  return `${kind} {${members.join(", ")}}`;
}

/** Lone surrogates must not be lost when the result is compared. */
function charCodes(text: string): string {
  return /^[\x20-\x7e]*$/.test(text)
    ? JSON.stringify(text)
    : [...text].map((c) => c.codePointAt(0)?.toString(16)).join("-");
}
