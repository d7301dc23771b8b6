import { StateError } from "../errors.ts";
import { nearestName } from "../internal/nearest-name.ts";
import type { ResumeOptions, RunOptions } from "./agent.ts";
import type { AgentHooks } from "./hooks.ts";

/** "anything" is for what is looked at elsewhere, with words of its own. */
type Kind = "string" | "number" | "boolean" | "object" | "function" | "anything";

/** Every option with what it may be, so that the compiler finds one that was forgotten here. */
export type OptionKinds<Options> = Readonly<Record<keyof Options, Kind | readonly Kind[]>>;

/**
 * Refuses an option that does not exist or is of another kind: a misspelt
 * `threadId` would save nothing, a misspelt `lease` would protect nothing.
 */
export function assertKnownOptions(where: string, options: object, kinds: OptionKinds<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind === undefined) throw unknownOption(where, name, Object.keys(kinds));
    const allowed = [kind].flat();
    if (value === undefined || allowed.includes("anything")) continue;
    if (value !== null && allowed.includes(typeof value as Kind)) continue;
    const found = value === null ? "null" : `a ${typeof value}`;
    throw new TypeError(`${where}: ${name} must be ${allowed.map(withArticle).join(" or ")}, not ${found}`);
  }
}

const withArticle = (kind: Kind): string => (kind === "object" ? "an object" : `a ${kind}`);

function unknownOption(where: string, name: string, names: readonly string[]): StateError {
  const meant = nearestName(name, names);
  const instead = meant === undefined ? `it takes ${names.join(", ")}` : `did you mean ${JSON.stringify(meant)}?`;
  return new StateError("INVALID_ARGUMENT", `${where} has no option ${JSON.stringify(name)}; ${instead}`);
}

const RUN: OptionKinds<RunOptions> = { threadId: "string", signal: "object", metadata: "object" };
const RESUME: OptionKinds<ResumeOptions> = { ...RUN, interruptId: "string", response: "anything" };

export function assertRunOptions(options: RunOptions): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(
      `run() takes its options as an object, not ${described(options)}. Write agent.run(prompt, { threadId: "…" })`,
    );
  }
  assertKnownOptions("run()", options, RUN);
  assertSignal("run()", options.signal);
}

export function assertResumeOptions(options: ResumeOptions): void {
  const usage = "Write agent.resume({ threadId, interruptId, response })";
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`resume() takes one object, not ${described(options)}. ${usage}`);
  }
  assertKnownOptions("resume()", options, RESUME);
  for (const name of ["threadId", "interruptId"] as const) {
    if (options[name] === undefined) throw new TypeError(`resume() needs ${name}. ${usage}`);
  }
  assertSignal("resume()", options.signal);
}

function assertSignal(where: string, signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  const advice = signal instanceof AbortController ? "; write controller.signal" : "";
  throw new TypeError(`${where}: signal must be an AbortSignal, not ${described(signal)}${advice}`);
}

/** A text, parts, or a message of the user's. */
export function assertPrompt(prompt: unknown): void {
  if (typeof prompt === "string" || Array.isArray(prompt)) return;
  if (typeof prompt === "object" && prompt !== null && (prompt as { role?: unknown }).role === "user") return;
  throw new TypeError(
    `run() takes the prompt first: a text, a list of parts or a userMessage(), not ${described(prompt)}. ` +
      "Write agent.run(prompt, { threadId }), or agent.run(undefined, { threadId }) to finish what was begun",
  );
}

const HOOKS: Readonly<Record<keyof AgentHooks, "function">> = {
  beforeRun: "function",
  beforeIteration: "function",
  beforeModel: "function",
  afterModel: "function",
  beforeTool: "function",
  afterTool: "function",
  afterIteration: "function",
  afterRun: "function",
};

/** An object of a class may have more than its hooks; one that was written down may not. */
export function assertHooks(hooks: AgentHooks): void {
  if (Object.getPrototypeOf(hooks) === Object.prototype) assertKnownOptions("Agent({ hooks })", hooks, HOOKS);
}

export function assertMethods(where: string, value: object, methods: readonly string[]): void {
  const missing = methods.find((name) => typeof (value as Readonly<Record<string, unknown>>)[name] !== "function");
  if (missing === undefined) return;
  throw new TypeError(
    `${where} must be an object with ${methods.map((name) => `${name}()`).join(" and ")}; ${missing}() is missing`,
  );
}

/** What a value is, and nothing of what is in it. */
export function described(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  if (typeof value !== "object") return `a ${typeof value}`;
  const name: unknown = value.constructor?.name;
  return typeof name === "string" && name !== "" && name !== "Object" ? `an object of class ${name}` : "an object";
}
