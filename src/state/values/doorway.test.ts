import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { AgentState } from "../agent-state.ts";
import { type Message, userMessage } from "../message.ts";
import { decodeText, encodeText } from "./codec.ts";
import { immutableCopy, MAX_DEPTH } from "./doorway.ts";

class Account {
  readonly balance = 1;
}

const looksAtYou = (): object => {
  throw new Error("the getter was called");
};

describe("what cannot be kept is refused, with its path", () => {
  const cyclic: { self?: unknown } = {};
  cyclic.self = { again: cyclic };
  const holes: unknown[] = [];
  holes[2] = 1;
  const cases: readonly [path: string, what: string, value: unknown][] = [
    ["x.fn", "a function", { fn: () => 1 }],
    ["x.list[1].fn", "a function", { list: [0, { fn: () => 1 }] }],
    ["x.s", "a symbol", { s: Symbol("s") }],
    ["x", "an object with the symbol key Symbol(k)", { [Symbol("k")]: 1 }],
    ["x.a", "a getter", Object.defineProperty({}, "a", { get: looksAtYou, enumerable: true })],
    ["x[0]", "a getter", Object.defineProperty([1], 0, { get: looksAtYou, enumerable: true })],
    ["x.a", "a hidden (non-enumerable) property", Object.defineProperty({}, "a", { value: 1 })],
    ["x.p", "a Proxy", { p: new Proxy({}, { get: looksAtYou, ownKeys: looksAtYou as () => never }) }],
    ["x.toJSON", "a function", { toJSON: () => "something else" }],
    ["x.account", "an instance of Account", { account: new Account() }],
    ["x.error", "an instance of Error", { error: new Error("e", { cause: new Error("c") }) }],
    ["x", "an instance of RegExp", /a/],
    ["x", "an instance of URL", new URL("http://localhost")],
    ["x", "an instance of Promise", Promise.resolve()],
    ["x", "an instance of Number", Object(1)],
    ["x", "an instance of Float32Array", new Float32Array(1)],
    ["x", "an instance of ArrayBuffer", new ArrayBuffer(1)],
    ["x", "an instance of WeakMap", new WeakMap()],
    ["x", "an instance of an unnamed class", new (class {})()],
    ["x", "an instance of Later", new (class Later extends Date {})()],
    ["x", "an instance of a subclass of Array", new (class List extends Array {})()],
    ["x", "an instance of Map with properties of its own", Object.assign(new Map(), { extra: 1 })],
    ["x", "an instance of Date with properties of its own", Object.assign(new Date(), { extra: 1 })],
    ["x", "an array with holes or with properties of its own", holes],
    ["x", "an array with holes or with properties of its own", Object.assign([1], { extra: 1 })],
    [
      "x(key 1).fn",
      "a function",
      new Map<unknown, unknown>([
        [1, 1],
        [{ fn: () => 1 }, 2],
      ]),
    ],
    ["x(value 0)", "a function", new Map([[1, () => 1]])],
    ["x(item 1)", "a symbol", new Set([1, Symbol("s")])],
    ['x["a b"]["\\n"]', "a function", { "a b": { "\n": () => 1 } }],
    ["x.__proto__", "a function", Object.defineProperty({}, "__proto__", { value: () => 1, enumerable: true })],
    ["x.self.again", "a cycle", cyclic],
  ];
  test.each(cases)("%s: %s", async (path, what, value) => {
    const failure = await failureOf(() => immutableCopy(value, "x"));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT", context: { path } });
    expect(failure.message).toBe(`${path}: ${what} cannot be stored; keep plain data there`);
  });

  test("in a state, the path begins with its field", async () => {
    const messages = [
      userMessage("a"),
      userMessage("b"),
      userMessage("c"),
      userMessage("d", { metadata: { fn: () => 1 } }),
    ];
    const failure = await failureOf(() => AgentState.create({ messages }));
    expect(failure.message).toBe("state.messages[3].metadata.fn: a function cannot be stored; keep plain data there");
  });

  test("a class whose name is a hostile getter is still only refused", async () => {
    const made = Object.create({
      get constructor(): unknown {
        return { name: "faked" };
      },
    });
    expect(await failureOf(() => immutableCopy(made, "x"))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("depth", () => {
  const nested = (depth: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { in: value };
    return value;
  };
  const nestedMaps = (depth: number): unknown => {
    let value: unknown = { $: 1 };
    for (let level = 1; level < depth; level++) value = new Map([[value, 1]]);
    return value;
  };

  test(`${MAX_DEPTH} levels are kept`, () => {
    const text = encodeText(nested(MAX_DEPTH), "x");
    expect(encodeText(decodeText(text, "x"), "x")).toBe(text);
  });

  test(`${MAX_DEPTH} levels of the kind that costs most are kept`, () => {
    const text = encodeText(nestedMaps(MAX_DEPTH), "x");
    expect(encodeText(decodeText(text, "x"), "x")).toBe(text);
  });

  test.each([MAX_DEPTH + 1, 5_000, 1_000_000])("%i levels are refused, with a path one can read", async (depth) => {
    const failure = await failureOf(() => immutableCopy(nested(depth), "x"));
    expect(failure.code).toBe("INVALID_ARGUMENT");
    expect(failure.message).toContain("nested more than 500 levels deep");
    expect(failure.message.length).toBeLessThan(300);
  });

  test("a state that wraps parts of itself again and again is refused, or loads back", async () => {
    let state = AgentState.create();
    try {
      for (let level = 0; level < 2_500; level++) state = state.withMetadata({ before: state.metadata });
      const text = encodeText(state.fields, "state");
      expect(encodeText(decodeText(text, "state"), "state") === text).toBe(true);
    } catch (error) {
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  });
});

describe("size", () => {
  test("a string of 100 MB is refused as TOO_LARGE", async () => {
    const failure = await failureOf(() => immutableCopy({ text: "x".repeat(100_000_000) }, "x"));
    expect(failure).toMatchObject({ code: "TOO_LARGE", context: { path: "x.text" } });
  });

  test("many strings that are too much together are refused", async () => {
    const text = "x".repeat(1_000_000);
    expect(
      await failureOf(() =>
        immutableCopy(
          Array.from({ length: 70 }, () => text),
          "x",
        ),
      ),
    ).toMatchObject({
      code: "TOO_LARGE",
    });
  });

  test("bytes that are too many are refused", async () => {
    expect(await failureOf(() => immutableCopy([new Uint8Array(70_000_000)], "x"))).toMatchObject({
      code: "TOO_LARGE",
      context: { path: "x[0]" },
    });
  });

  test("an empty list that claims 2^32-1 items is refused at once", async () => {
    const list: unknown[] = [];
    list.length = 2 ** 32 - 1;
    expect(await failureOf(() => immutableCopy({ list }, "x"))).toMatchObject({ context: { path: "x.list" } });
  });

  /** In a process of its own: what is not refused in time fills all memory there is. */
  const inOwnProcess = (program: string): string => {
    const module = new URL("../agent-state.ts", import.meta.url).href;
    const code = `import { AgentState } from ${JSON.stringify(module)};
      try { ${program}; console.log("kept"); } catch (error) { console.log(error.code ?? error.name); }`;
    const flags = ["--max-old-space-size=400", "--import", "tsx", "--input-type=module", "--eval", code];
    return spawnSync(process.execPath, flags, { timeout: 60_000, encoding: "utf8" }).stdout.trim() || "never answered";
  };

  test("a small graph that unfolds to 2^40 nodes is refused before it is unfolded", () => {
    const program = `let x = { a: 1 };
      for (let i = 0; i < 40; i++) x = { a: x, b: x };
      AgentState.create({ metadata: x }).toCheckpoint()`;
    expect(inOwnProcess(program)).toBe("TOO_LARGE");
  });

  test("a state that doubles itself again and again is refused before it is unfolded", () => {
    const program = `let s = AgentState.create();
      for (let i = 0; i < 40; i++) s = s.withMetadata({ a: s.metadata, b: s.metadata });
      s.toCheckpoint()`;
    expect(inOwnProcess(program)).toBe("TOO_LARGE");
  });
});

describe("ownership", () => {
  test("a copy is frozen, shares nothing with its source, and is recognised", () => {
    const source = { list: [{ a: 1 }], bytes: Buffer.from("abc"), map: new Map([["k", { b: 1 }]]) };
    const copy = immutableCopy(source, "x");
    source.list[0]!.a = 2;
    source.list.push({ a: 3 });
    source.bytes[0] = 0;
    source.map.get("k")!.b = 2;
    expect(copy).toEqual({ list: [{ a: 1 }], bytes: Buffer.from("abc"), map: new Map([["k", { b: 1 }]]) });
    for (const part of [copy, copy.list, copy.list[0]!, copy.map.get("k")!]) {
      expect(Object.isFrozen(part)).toBe(true);
      expect(immutableCopy(part, "x")).toBe(part);
    }
    expect(immutableCopy(copy, "x")).toBe(copy);
  });

  test("a frozen object of a stranger is copied all the same", () => {
    const inner = { a: 1 };
    const stranger = Object.freeze({ inner });
    const copy = immutableCopy(stranger, "x");
    inner.a = 2;
    expect(copy.inner.a).toBe(1);
  });

  test("a message that is in a state already is shared when it is used again", () => {
    const state = AgentState.create().withMessage(userMessage("a", { metadata: { deep: { er: 1 } } }));
    const again = state.withHistory([...state.messages, { role: "user", content: "b" } as Message]);
    expect(again.messages[0]).toBe(state.messages[0]);
  });
});
