import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { exactForm } from "../../test/exact-form.ts";
import { failureOf } from "../../test/failure-of.ts";
import { AgentState } from "./agent-state.ts";
import { decodeText, decodeValue, encodeText } from "./values/codec.ts";

const prototypes = [Object, Array, Map, Set, Date, Function, Uint8Array, String].map((made) => made.prototype);
const namesOf = (): string => JSON.stringify(prototypes.map((prototype) => Reflect.ownKeys(prototype).map(String)));

let before: string;
beforeEach(() => {
  before = namesOf();
});
afterEach(() => {
  expect(namesOf(), "a prototype was changed").toBe(before);
  expect(Reflect.has({}, "polluted")).toBe(false);
  expect(Reflect.has(globalThis, "pwned")).toBe(false);
});

/** Payloads that made other libraries call what the data names. Here each is a value like any other. */
const REVIVALS: readonly string[] = [
  '{"lc":2,"type":"constructor","id":["Map"],"method":"groupBy","args":[[1],{"lc":2,"type":"constructor","id":["Uint8Array"],"method":"constructor","args":["globalThis.pwned=1"]}]}',
  '{"lc":2,"type":"constructor","id":["Uint8Array"],"method":"from","args":[[1]]}',
  '{"lc":2,"type":"constructor","id":["os","system"],"kwargs":{"command":"touch pwned"}}',
  '{"lc":1,"type":"constructor","id":["langchain","schema","HumanMessage"],"kwargs":{"content":"x"}}',
  '{"lc":1,"type":"secret","id":["PATH"]}',
  '{"lc":1,"type":"not_implemented","id":["x"]}',
  '{"__type":"Function","value":"globalThis.pwned=1"}',
  '{"json":{"a":"1"},"meta":{"values":{"a":["constructor"]}}}',
  '{"_$$ND_FUNC$$_f":"function(){globalThis.pwned=1}()"}',
  '{"py/object":"os.system","py/reduce":[]}',
  '{"type":"Buffer","data":[1,2,3]}',
  '{"$type":"System.Diagnostics.Process","$ref":"#"}',
  '{"$ne":null,"$where":"globalThis.pwned=1"}',
  '{"then":"x","catch":"y"}',
  '{"toJSON":"x","valueOf":"y","toString":"z"}',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"a":{"__proto__":{"__proto__":{"polluted":true}}}}',
];

describe("a payload that others would revive stays inert", () => {
  test.each(REVIVALS)("%s", (payload) => {
    const value: unknown = JSON.parse(payload);
    expect(exactForm(decodeText(payload, "stored")), "when it lies in the store").toBe(exactForm(value));
    expect(exactForm(decodeText(encodeText(value, "value"), "stored")), "when a user saves it").toBe(exactForm(value));
    const state = AgentState.fromCheckpoint(JSON.parse(`{"format":1,"state":{"metadata":{"x":${payload}}}}`));
    expect(exactForm(state.metadata["x"]), "when it arrives in a document").toBe(exactForm(value));
  });
});

test("a user's text with a lone surrogate does not change how the rest is read", () => {
  const text = encodeText({ text: "\ud800", payload: JSON.parse(REVIVALS[0]!) }, "value");
  expect(exactForm(decodeText(text, "stored"))).toBe(exactForm({ text: "\ud800", payload: JSON.parse(REVIVALS[0]!) }));
});

test("of duplicate keys the last counts, as JSON.parse has it, and __proto__ is only a key", () => {
  const decoded = decodeText('{"a":1,"a":2,"__proto__":{"polluted":1},"__proto__":{"polluted":2}}', "stored");
  expect(exactForm(decoded)).toBe(exactForm(JSON.parse('{"a":2,"__proto__":{"polluted":2}}')));
});

test("a tag inherited from nowhere but the data counts", () => {
  expect(exactForm(decodeText('{"__proto__":{"$":"undefined"}}', "stored"))).toBe(
    exactForm(Object.defineProperty({}, "__proto__", { value: undefined, enumerable: true })),
  );
});

describe("text nested far deeper than anything that can be saved", () => {
  const opens: readonly [what: string, open: string, close: string][] = [
    ["lists", "[", "]"],
    ["objects", '{"a":', "}"],
    ["escaped objects", '{"$":"object","v":{"a":', "}}"],
    ["sets", '{"$":"set","v":[', "]}"],
    ["maps in their keys", '{"$":"map","v":[[', ",1]]}"],
    ["bare objects", '{"$":"bare","v":{"__proto__":', "}}"],
  ];
  test.each(opens)("%s: refused as CORRUPT", async (_, open, close) => {
    const text = `${open.repeat(100_000)}1${close.repeat(100_000)}`;
    expect(await failureOf(() => decodeText(text, "stored"))).toMatchObject({ code: "CORRUPT" });
  });

  test.each(opens)("%s as a tree: refused, not a stack overflow", async (_, open, close) => {
    const tree: unknown = JSON.parse(`${open.repeat(100_000)}1${close.repeat(100_000)}`);
    const failure = await failureOf(() => decodeValue(tree, "stored"));
    expect(["CORRUPT", "INVALID_ARGUMENT"]).toContain(failure.code);
  });
});

describe("a document that is no checkpoint is refused with a typed error", () => {
  const documents: readonly [what: string, document: unknown][] = [
    ["nothing", undefined],
    ["null", null],
    ["a string", "checkpoint"],
    ["an empty object", {}],
    ["a format that is no number", { format: "1", state: {} }],
    ["no state", { format: 1 }],
    ["a state that is text", { format: 1, state: "{}" }],
    ["messages that are no list", { format: 1, state: { messages: {} } }],
    ["a message without a role", { format: 1, state: { messages: [{ content: "x" }] } }],
    ["a message with an unknown role", { format: 1, state: { messages: [{ role: "root", content: "x" }] } }],
    ["a function inside", { format: 1, state: { metadata: { f: () => 1 } } }],
    ["metadata that is null", { format: 1, state: { metadata: null } }],
  ];
  test.each(documents)("%s", async (_, document) => {
    const failure = await failureOf(() => AgentState.fromCheckpoint(document));
    expect(["INVALID_ARGUMENT", "CORRUPT"]).toContain(failure.code);
  });

  test("a newer format is INCOMPATIBLE and says what to do", async () => {
    const failure = await failureOf(() => AgentState.fromCheckpoint({ format: 2, state: {} }));
    expect(failure.code).toBe("INCOMPATIBLE");
    expect(failure.message).toBe(
      "the checkpoint was written by format v2; this build reads up to v1. Upgrade holdfast to read it",
    );
  });

  test("a kind of value from a newer format is INCOMPATIBLE", async () => {
    const document = { format: 1, state: { metadata: { at: { $: "temporal", v: "P1D" } } } };
    expect(await failureOf(() => AgentState.fromCheckpoint(document))).toMatchObject({ code: "INCOMPATIBLE" });
  });
});
