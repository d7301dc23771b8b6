/** A value to put where user data goes. Created afresh each time: reading uses up some of them. */
export interface HostileValue {
  readonly what: string;
  readonly make: () => unknown;
}

const nested = (depth: number): unknown => {
  let value: unknown = "bottom";
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { in: value };
  return value;
};

/** Must come back exactly as they went in. */
export const KEPT_VALUES: readonly HostileValue[] = [
  { what: "a Date", make: () => new Date(1767225600123) },
  { what: "an invalid Date", make: () => new Date(Number.NaN) },
  { what: "a Date far away", make: () => new Date(8.64e15) },
  { what: "BigInts", make: () => [0n, -1n, 2n ** 200n] },
  {
    what: "a Map with keys of every kind",
    make: () =>
      new Map<unknown, unknown>([
        [{ a: 1 }, 1],
        [[2], new Map([[1n, new Set([1])]])],
        [Number.NaN, undefined],
        ["1", 1],
        [1, "1"],
      ]),
  },
  { what: "a Set in its order", make: () => new Set<unknown>(["b", "a", -0, Number.NaN, undefined, null, { a: [] }]) },
  { what: "bytes", make: () => Uint8Array.from({ length: 256 }, (_, index) => index) },
  { what: "a Buffer", make: () => Buffer.from([0, 127, 128, 255]) },
  { what: "no bytes", make: () => new Uint8Array(0) },
  { what: "a view into larger bytes", make: () => new Uint8Array(Uint8Array.of(1, 2, 3, 4).buffer, 1, 2) },
  { what: "undefined in an object", make: () => ({ a: undefined, b: 1 }) },
  { what: "undefined in a list", make: () => [undefined, 1, undefined] },
  { what: "numbers JSON lacks", make: () => [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0] },
  {
    what: "numbers at the edge",
    make: () => [2 ** 53, 2 ** 53 - 1, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1e21, -1e-7],
  },
  { what: "an own __proto__ key", make: () => JSON.parse('{"__proto__":{"polluted":true},"a":1}') },
  {
    what: "own keys of Object.prototype",
    make: () => JSON.parse('{"constructor":{"prototype":{"polluted":true}},"toString":1,"hasOwnProperty":null}'),
  },
  {
    what: "our own tags as data",
    make: () => ({
      $: "date",
      v: "2026-01-01T00:00:00.000Z",
      deep: [{ $: "undefined" }, { $: "object", v: { $: "map", v: [] } }],
    }),
  },
  {
    what: "our own tags as a Map's key",
    make: () =>
      new Map([
        [
          { $: "bigint", v: "1" },
          { $: "set", v: [1] },
        ],
      ]),
  },
  { what: "an unknown tag", make: () => ({ $: "constructor", v: "process.exit" }) },
  {
    what: "tags of other libraries",
    make: () => [{ lc: 1, type: "secret", id: ["ENV"] }, { __type: "Date" }, { $ne: null }, { json: 1, meta: {} }],
  },
  { what: "an object without a prototype", make: () => Object.assign(Object.create(null), { a: 1, $: 2 }) },
  {
    what: "an empty key and keys like numbers",
    make: () => ({ "": 0, b: 1, a: 2, "10": 3, "9": 4, "-1": 5, "01": 6 }),
  },
  {
    what: "strings with U+0000, lone surrogates and U+2028",
    make: () => ["a\u0000b", "\ud800", "\udc00x", "\u2028\u2029", "\ufeffa", "\u{1f600}", "e\u0301\u00e9"],
  },
  { what: "keys with U+0000 and lone surrogates", make: () => ({ "a\u0000b": 1, "\ud800": 2, "\ud801": 3 }) },
  {
    what: "text that looks like JSON or SQL",
    make: () => ['{"a":1}', "1e400", "null", "'; DROP TABLE x; --", "\\u0000", "$" + "{x}", "</script>"],
  },
  { what: "400 levels", make: () => nested(400) },
  { what: "a megabyte of text", make: () => "\u00e9x".repeat(512 * 1024) },
  { what: "empty things", make: () => ["", [], {}, new Map(), new Set(), null, false, 0] },
  {
    what: "one object in two places",
    make: () => {
      const shared = { a: [1] };
      return { first: shared, second: [shared] };
    },
  },
];

/** Must be refused with a StateError that says where in the value the trouble lies. */
export const REFUSED_VALUES: readonly HostileValue[] = [
  { what: "1000 levels", make: () => nested(1000) },
  { what: "a million levels", make: () => nested(1_000_000) },
  {
    what: "a cycle",
    make: () => {
      const list: unknown[] = [];
      list.push({ list });
      return list;
    },
  },
  {
    what: "a cycle through a Map",
    make: () => {
      const map = new Map<unknown, unknown>();
      map.set("self", map);
      return map;
    },
  },
  {
    what: "a list with a hole",
    make: () => {
      const list: unknown[] = [];
      list[1] = 1;
      return list;
    },
  },
  {
    what: "a list of 2^32-1 holes",
    make: () => {
      const list: unknown[] = [];
      list.length = 2 ** 32 - 1;
      return list;
    },
  },
  { what: "a list with a property", make: () => Object.assign([1], { extra: true }) },
  {
    what: "a getter that throws",
    make: () =>
      Object.defineProperty({}, "a", {
        enumerable: true,
        get: () => {
          throw new Error("looked");
        },
      }),
  },
  { what: "a hidden property", make: () => Object.defineProperty({}, "a", { value: 1 }) },
  { what: "toJSON", make: () => ({ toJSON: () => "something else" }) },
  { what: "a Proxy", make: () => new Proxy({ a: 1 }, {}) },
  { what: "a function", make: () => () => undefined },
  { what: "a symbol", make: () => Symbol("a") },
  { what: "a symbol key", make: () => ({ [Symbol("a")]: 1 }) },
  {
    what: "an instance of a class",
    make: () =>
      new (class Account {
        readonly balance = 1;
      })(),
  },
  { what: "an Error with a cause", make: () => new Error("a", { cause: new Error("b") }) },
  { what: "a Date of a subclass", make: () => new (class Later extends Date {})() },
  { what: "a regular expression", make: () => /a/g },
  { what: "a URL", make: () => new URL("http://localhost/") },
  { what: "a promise", make: () => Promise.resolve(1) },
  { what: "a boxed number", make: () => new Number(1) },
  { what: "floats", make: () => new Float64Array([1.5]) },
  { what: "an ArrayBuffer", make: () => new ArrayBuffer(4) },
  { what: "a hundred million characters", make: () => "x".repeat(100_000_000) },
];
