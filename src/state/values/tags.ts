/**
 * The tags of an encoded value: an object whose key "$" names what JSON lacks. The table is closed, and no tag names a
 * constructor. A user's own object with a "$" key is escaped, so no data can be read as a tag; but inside of that
 * escape its "$" is an ordinary key again. Whatever looks into encoded values walks them by `mapParts`, which knows
 * the difference.
 *
 *   {"$":"undefined"}                {"$":"number","v":"NaN"|"Infinity"|"-Infinity"|"-0"}
 *   {"$":"bigint","v":"123"}         {"$":"date","v":"2026-01-01T00:00:00.000Z"|null}
 *   {"$":"map","v":[[k,v],…]}        {"$":"set","v":[…]}
 *   {"$":"bytes","v":base64}         {"$":"buffer","v":base64}        (Uint8Array, Buffer)
 *   {"$":"object","v":{…}}           an object of the user's that has a "$" key
 *   {"$":"bare","v":{…}}             an object without a prototype
 *   {"$":"sealed","k":key id,"v":base64}                             a value that only that key opens
 *
 * Only in the records of graphs:
 *
 *   {"$":"l","v":7}                  a list that the records share, by its number
 *   {"$":"lc","v":{…}}               an instance of one of LangChain's classes, as its serialiser wrote it
 *   {"$":"serde","v":[type,base64]}  what a serialiser of the user's wrote
 *   {"$":"delta","v":value}          {"$":"regexp","v":[source,flags]}     {"$":"error","v":[name,message,stack]}
 */

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue };

export const TAG = "$";

/**
 * What lies in the `v` of a tag. `notation`: a form of our own, without any person's words. `members`: an object with
 * keys of the user's, "$" among them. `value`: an encoded value. `texts`: a list, of which the items at these places
 * are texts. `json`: JSON of others, in which "$" means nothing. `opaque`: nothing that can be looked into.
 */
export type Holds = "notation" | "members" | "value" | "json" | "opaque" | { readonly texts: readonly number[] };

const HOLDS: Readonly<Record<string, Holds>> = {
  undefined: "notation",
  number: "notation",
  bigint: "notation",
  date: "notation",
  bytes: "notation",
  buffer: "notation",
  sealed: "notation",
  map: "value",
  set: "value",
  object: "members",
  bare: "members",
  l: "notation",
  lc: "json",
  serde: "opaque",
  delta: "value",
  regexp: { texts: [0] },
  error: { texts: [1, 2] },
};

/** What a tag holds. One that this version does not know may hold anything. */
export const holdsOf = (tag: unknown): Holds =>
  (typeof tag === "string" && Object.hasOwn(HOLDS, tag) ? HOLDS[tag] : undefined) ?? "json";

export const isJsonList = (json: JsonValue): json is readonly JsonValue[] => Array.isArray(json);

export const isJsonObject = (json: JsonValue | undefined): json is JsonObject =>
  typeof json === "object" && json !== null && !isJsonList(json);

/** The tag of an encoded value; `undefined` if it has none. */
export const tagOf = (json: JsonValue): unknown =>
  isJsonObject(json) && Object.hasOwn(json, TAG) ? json[TAG] : undefined;

/** The members of an encoded object, be it escaped or not; `undefined` for any other value. */
export function membersOf(json: JsonValue): JsonObject | undefined {
  if (!isJsonObject(json)) return undefined;
  if (!Object.hasOwn(json, TAG)) return json;
  const { v } = json;
  return holdsOf(json[TAG]) === "members" && isJsonObject(v) ? v : undefined;
}

export type Change = (part: JsonValue, key: string | number) => JsonValue;

/** An encoded value with each value directly in it replaced by what `change` makes of it; the very same if all stay. */
export function mapParts(json: JsonValue, change: Change): JsonValue {
  if (!isJsonObject(json) || !Object.hasOwn(json, TAG)) return mapJson(json, change);
  const { v } = json;
  const holds = holdsOf(json[TAG]);
  if (v === undefined || holds === "notation" || holds === "opaque" || holds === "json") return json;
  const next = mapContent(holds, v, change);
  return next === v ? json : { ...json, v: next };
}

function mapContent(holds: Exclude<Holds, string> | "members" | "value", v: JsonValue, change: Change): JsonValue {
  if (holds === "value") return change(v, "v");
  if (holds === "members") return mapJson(v, change);
  return mapJson(v, (part, key) => (holds.texts.includes(key as number) ? change(part, key) : part));
}

/** The same for JSON in which "$" means nothing. */
export function mapJson(json: JsonValue, change: Change): JsonValue {
  if (typeof json !== "object" || json === null) return json;
  let isChanged = false;
  const changed = (part: JsonValue, key: string | number): JsonValue => {
    const next = change(part, key);
    isChanged ||= next !== part;
    return next;
  };
  const next = isJsonList(json)
    ? json.map(changed)
    : Object.fromEntries(Object.entries(json).map(([key, part]) => [key, changed(part, key)]));
  return isChanged ? next : json;
}

/** A value that JSON lacks and that holds no other, as its tag; `undefined` for every other value. */
export function taggedLeaf(value: unknown): JsonObject | undefined {
  switch (typeof value) {
    case "number":
      if (Number.isFinite(value) && !Object.is(value, -0)) return undefined;
      return { [TAG]: "number", v: Object.is(value, -0) ? "-0" : String(value) };
    case "bigint":
      return { [TAG]: "bigint", v: String(value) };
    case "undefined":
      return { [TAG]: "undefined" };
    case "object":
      if (value instanceof Uint8Array) {
        const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
        return { [TAG]: Buffer.isBuffer(value) ? "buffer" : "bytes", v: bytes.toString("base64") };
      }
      if (value instanceof Date)
        return { [TAG]: "date", v: Number.isNaN(value.getTime()) ? null : value.toISOString() };
      return undefined;
    default:
      return undefined;
  }
}

/** Stands for a value whose text is not in our format. */
export const DAMAGED: unique symbol = Symbol("damaged");

/** How the same tags are read. */
const LEAVES: Readonly<Record<string, (v: unknown) => unknown>> = {
  undefined: () => undefined,
  number: (v) => (typeof v === "string" && SPECIAL_NUMBERS.has(v) ? SPECIAL_NUMBERS.get(v) : DAMAGED),
  bigint: (v) => (typeof v === "string" && /^-?\d+$/.test(v) ? BigInt(v) : DAMAGED),
  date: (v) => (v === null ? new Date(Number.NaN) : typeof v === "string" && isDateText(v) ? new Date(v) : DAMAGED),
  bytes: (v) => (isBase64(v) ? new Uint8Array(Buffer.from(v, "base64")) : DAMAGED),
  buffer: (v) => (isBase64(v) ? Buffer.from(v, "base64") : DAMAGED),
};

export const isLeafTag = (tag: unknown): tag is string => typeof tag === "string" && Object.hasOwn(LEAVES, tag);

/** The value of such a tag, new and not frozen, or `DAMAGED`. */
export const leafOf = (tag: string, v: unknown): unknown => LEAVES[tag]?.(v);

const SPECIAL_NUMBERS: ReadonlyMap<string, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
  ["-0", -0],
]);

/** Only what `toISOString` writes: we did not write a text that merely looks like a date. */
const isDateText = (text: string): boolean => {
  const date = new Date(text);
  return !Number.isNaN(date.getTime()) && date.toISOString() === text;
};

export const isBase64 = (value: unknown): value is string =>
  typeof value === "string" && Buffer.from(value, "base64").toString("base64") === value;
