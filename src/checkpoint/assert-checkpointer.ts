import { BaseCheckpointer } from "./base-checkpointer.ts";
import type { CapabilityFlag } from "./capabilities.ts";
import { contextOf } from "./context.ts";
import { CLIENTS, OPTIONS } from "./known-backends.ts";

/**
 * Refuses a value that is not a checkpointer, and says what to write instead.
 * Types refuse it too; this is for JavaScript and for `any`. The value itself is
 * never shown: it may be a URL with a password.
 */
export function assertCheckpointer(value: unknown, where: string): asserts value is BaseCheckpointer {
  if (BaseCheckpointer.is(value)) return assertComplete(value, where);
  const { what, instead } = mistakeIn(value);
  throw new TypeError(`${where} takes a checkpointer, not ${what}. ${instead}`);
}

/** The checkpointer to work with, once it is needed: only one of the caller's own has a guard, and loads it. */
export async function guardedLater(checkpointer: BaseCheckpointer): Promise<BaseCheckpointer> {
  if (contextOf(checkpointer) !== undefined) return checkpointer;
  const { guardedCheckpointer } = await import("./guarded-checkpointer.ts");
  return guardedCheckpointer(checkpointer);
}

/** The method that each flag stands for. The other flags describe how something is done and have no method. */
const METHODS_OF: Partial<Record<CapabilityFlag, readonly (keyof BaseCheckpointer)[]>> = {
  search: ["search"],
  metadataQuery: ["queryByMetadata"],
  vacuum: ["vacuum"],
  branching: ["copyThread", "fork"],
  listThreads: ["listThreads"],
  listWithMetadata: ["listWithMetadata", "getMetadata"],
  lease: ["withLease"],
  watch: ["watch"],
};

/** Refuses an unfinished custom backend before an agent relies on it. */
function assertComplete(value: BaseCheckpointer, where: string): void {
  const name = classOf(value);
  const missing = (["save", "load", "listCheckpoints", "delete"] as const).filter(
    (method) => typeof value[method] !== "function",
  );
  if (missing.length > 0) throw new TypeError(`${where}: ${name} lacks ${missing.join("(), ")}()`);
  const flags: unknown = value.capabilities;
  if (typeof flags !== "object" || flags === null) {
    throw new TypeError(`${where}: ${name} has no capabilities. Write: capabilities = capabilities({ history: true })`);
  }
  for (const [flag, methods] of Object.entries(METHODS_OF)) {
    if (!value.capabilities[flag as CapabilityFlag]) continue;
    const inherited = methods.filter((method) => value[method] === BaseCheckpointer.prototype[method]);
    if (inherited.length === 0) continue;
    const lacks = `advertises "${flag}" and does not implement ${inherited.join("() and ")}()`;
    throw new TypeError(`${where}: ${name} ${lacks}. Implement it, or leave the flag out of its capabilities`);
  }
}

interface Mistake {
  readonly what: string;
  /** What to write instead. */
  readonly instead: string;
}

type Candidate = Readonly<Record<string, unknown>>;

function mistakeIn(value: unknown): Mistake {
  if (value === undefined || value === null) {
    return { what: String(value), instead: "Pass one, for example new MemoryCheckpointer()" };
  }
  if (typeof value === "string") return { what: "a string", instead: "If it is a URL: await openCheckpointer(url)" };
  if (typeof value === "function") return mistakenFunction(value as (...parameters: never) => unknown);
  if (typeof value !== "object") return { what: `a ${typeof value}`, instead: ANY };
  const candidate = value as Candidate;
  const known = SHAPES.find(({ isOne }) => isOne(candidate));
  return (
    known ?? (isPlain(value) ? mistakenOptions(candidate) : { what: `an object of ${classOf(value)}`, instead: ANY })
  );
}

const ANY =
  "Make one with a factory, such as sqliteCheckpointer({ path }), or by await openCheckpointer(url); your own must extend BaseCheckpointer";

const has = (candidate: Candidate, ...methods: readonly string[]): boolean =>
  methods.every((name) => typeof candidate[name] === "function");

/** From the most specific shape to the least: a Redis client, for example, has a method `save` as well. */
const SHAPES: readonly (Mistake & { readonly isOne: (candidate: Candidate) => boolean })[] = [
  {
    isOne: (value) => has(value, "then"),
    what: "a promise",
    instead: "Write await before it, as in await openCheckpointer(url)",
  },
  {
    isOne: (value) => has(value, "append", "readTail"),
    what: "a ThreadLog driver",
    instead: "Wrap it: new Checkpointer(log)",
  },
  {
    isOne: (value) => has(value, "save", "load", "listCheckpoints"),
    what: "an object that only looks like one",
    instead: "Let its class extend BaseCheckpointer",
  },
  ...CLIENTS.map(({ what, instead, methods, without = [], objects = [] }) => ({
    isOne: (value: Candidate) =>
      methods.some((names) => has(value, ...names)) &&
      !without.some((name) => has(value, name)) &&
      objects.every((name) => typeof value[name] === "object"),
    what,
    instead: `Use ${instead}`,
  })),
  {
    isOne: (value) => has(value, "save", "load", "delete"),
    what: "a dict-shaped storage",
    instead: "Wrap it: new StorageBackendAdapter(storage)",
  },
];

function mistakenFunction(value: (...parameters: never) => unknown): Mistake {
  const { name } = value;
  if (/^class\b/.test(Function.prototype.toString.call(value))) {
    return { what: name === "" ? "a class" : `the class ${name}`, instead: `Construct it: new ${name || "…"}(…)` };
  }
  return { what: name === "" ? "a function" : `the function ${name}`, instead: `Call it: ${name || "…"}(…)` };
}

function mistakenOptions(options: Candidate): Mistake {
  const calls = OPTIONS.filter(([option]) => Object.hasOwn(options, option)).map(([, call]) => call);
  const url = Object.hasOwn(options, "url") ? ["await openCheckpointer(url)"] : [];
  const meant = [...new Set([...calls, ...url])].join(" or ") || "sqliteCheckpointer({ … })";
  return { what: "plain options", instead: `Did you mean ${meant}?` };
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function classOf(value: object): string {
  const name: unknown = value.constructor?.name;
  return typeof name === "string" && name !== "" ? `class ${name}` : "a class without a name";
}
