import { StateError } from "../../errors.ts";
import {
  assertKnownOptions,
  described,
  nearestName,
  type OptionKinds,
  unknownOption,
} from "../../internal/known-options.ts";
import type { JsonSchema, ModelTool } from "../../models/model.ts";
import { type AnySchema, type ReadySchema, readySchema, type SchemaOutput } from "../../models/schema.ts";
import type { Message } from "../../state/message.ts";
import type { Subjects } from "../../state/people/subjects.ts";
import type { SessionPort } from "../ports.ts";
import type { Later, LaterOptions } from "./later.ts";
import type { Delegation } from "./sub-agent.ts";

/**
 * What may happen when a call was begun and its outcome is unknown.
 *
 * - `pure`: reads only. Run again.
 * - `idempotent`: the idempotency key makes a repetition harmless. Run again with the same key.
 * - `atMostOnce`: never run again. `verify` decides, else the model is told that the outcome is unknown.
 */
export type ToolEffect = "pure" | "idempotent" | "atMostOnce";

/** Where a call is made. */
export interface CallPlace<Runtime = unknown> {
  readonly toolCallId: string;
  readonly threadId: string | undefined;
  /** The thread's, with what the run was given. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** What the run was given as `runtime`: connections, clients, the user who is signed in. Never stored. */
  readonly runtime: Runtime;
  /** The conversation up to the message that makes the call. */
  readonly messages: readonly Message[];
}

export interface ToolContext<Runtime = unknown> extends CallPlace<Runtime> {
  /** The same for every attempt at this call, in every process. Hand it to what you call. */
  readonly idempotencyKey: string;
  /** 1, or more when an earlier attempt was cut off. */
  readonly attempt: number;
  /** Aborts on cancellation and on the tool's time-out. */
  readonly signal: AbortSignal;
  /** Who the run is about: what a tool stores of them carries it, as in `store.put(namespace, key, value, { metadata: { subject } })`. */
  readonly subject: Subjects | undefined;
  /** The working state of the session that the run is a task of. It is in memory: no attempt after a crash finds it. */
  readonly session: Pick<SessionPort, "getWorking" | "setWorking"> | undefined;
  /** Shown as a `tool-progress` event, and on a page as a preliminary result. Never stored. */
  progress(progress: unknown): void;
  /**
   * For a tool that only begins something: `return later({ deadlineMs })`. The run
   * ends as "pending", and `agent.complete({ threadId, toolCallId, result })`
   * brings the outcome, from any process. `later<Receipt>()` says of which type that is.
   */
  later<Result = unknown>(options?: LaterOptions): Later<Result>;
  /**
   * Asks a person. The first time the run ends as "pending" and this never
   * returns; after the answer, the tool is run again from its beginning and this
   * returns the answer. So ask before you act. An answer belongs to the
   * question it was given to: same words, same schema. Where the words change
   * from one attempt to the next, name the question by a `key`. A question that
   * is declined ends the call.
   */
  interrupt(request: PersonQuestion): Promise<unknown>;
}

export interface PersonQuestion {
  readonly question: string;
  readonly schema?: AnySchema;
  readonly key?: string;
}

/** What became of a call that was begun and never settled. */
export type VerifiedOutcome =
  | { readonly outcome: "done"; readonly result: unknown }
  | { readonly outcome: "not-done" }
  | { readonly outcome: "unknown" };

export interface ToolOptions<
  Schema extends AnySchema,
  Runtime = unknown,
  Name extends string = string,
  Returned = unknown,
> {
  readonly name: Name;
  /** What the model is told of it; a function is asked before each model call. */
  readonly description?: string | DescribeTool<Runtime>["of"];
  /** Asks the provider to hold the model to the schema, where it can. @default the provider's */
  readonly strict?: boolean;
  /** zod, valibot, arktype or JSON Schema. @default no arguments */
  readonly inputSchema?: Schema;
  /** With plain JSON Schema the type of `input` is yours to state: the schema is what is checked. */
  execute(input: SchemaOutput<Schema>, context: ToolContext<Runtime>): Returned;
  /** @default "atMostOnce" */
  readonly effect?: ToolEffect;
  /**
   * A second call with the same arguments in the thread gets the first one's result and is not run. The effect is
   * "idempotent" then, unless it is given. @default false
   */
  readonly reuseResult?: boolean;
  /** Asked after a crash about a call that was begun; may look the idempotency key up in what was called. */
  verify?(input: SchemaOutput<Schema>, context: ToolContext<Runtime>): VerifiedOutcome | Promise<VerifiedOutcome>;
  /** A person must agree first. @default false */
  readonly needsApproval?: boolean | NeedsApproval<Schema, Runtime>["decide"];
  /** @default no limit */
  readonly timeoutMs?: number;
  /** A call that fails is tried again, with the same key, also after a crash. Needs effect "idempotent" or "pure". */
  readonly retry?: RetryOptions;
  /** The run ends when this tool succeeded. @default false */
  readonly terminal?: boolean;
}

/** A method, so that its parameter may be given a narrower type, as with `execute`. */
interface NeedsApproval<Schema extends AnySchema, Runtime> {
  decide(input: SchemaOutput<Schema>, place: CallPlace<Runtime>): boolean | PromiseLike<boolean>;
}

/** What a description may depend on. */
export type ModelCallPlace<Runtime = unknown> = Pick<CallPlace<Runtime>, "threadId" | "metadata" | "runtime">;
interface DescribeTool<Runtime> {
  of(place: ModelCallPlace<Runtime>): string | PromiseLike<string>;
}

/** A tool as events name it: its name, what it takes and what it gives. */
export interface NamedTool<Name extends string = string, Input = unknown, Result = unknown> {
  readonly name: Name;
  /** Never there: for the types of events. */
  readonly "~types"?: { readonly input: Input; readonly result: Result };
}

/** What one of these tools gives. */
export type ResultIn<Tools extends NamedTool> = Tools extends NamedTool<string, infer _, infer Result> ? Result : never;

/** What a tool gives in the end if it returns this: a promise is kept, and what is left to `agent.complete` comes. */
type ResultOf<Returned> =
  Awaited<Returned> extends infer Value ? (Value extends Later<infer Result> ? Result : Value) : never;

/** A tool as the loop uses it. Make one with `tool()`. */
export interface Tool<Runtime = unknown, Name extends string = string, Input = unknown, Result = unknown>
  extends NamedTool<Name, Input, Result> {
  readonly description: string | ((place: ModelCallPlace) => string | PromiseLike<string>) | undefined;
  readonly strict?: boolean | undefined;
  readonly schema: ReadySchema;
  readonly effect: ToolEffect;
  readonly reusesResult: boolean;
  readonly terminal: boolean;
  readonly timeoutMs: number | undefined;
  readonly retry?: ToolRetry | undefined;
  execute(input: unknown, context: ToolContext): unknown;
  /** For a sub-agent, in place of `execute`. */
  readonly delegate?: (input: unknown, context: ToolContext, delegation: Delegation) => Promise<unknown>;
  verify: ((input: unknown, context: ToolContext) => VerifiedOutcome | Promise<VerifiedOutcome>) | undefined;
  needsApproval(input: unknown, place: CallPlace): boolean | PromiseLike<boolean>;
  /** Whether there are calls of it that need approval. */
  readonly mayNeedApproval?: boolean;
  /** Never there: says to the types what the tool needs of a run's `context`. */
  readonly "~context"?: (context: Runtime) => void;
}

const EFFECTS: ReadonlySet<unknown> = new Set(["pure", "idempotent", "atMostOnce"]);
/** Beyond this a timer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const NO_ARGUMENTS: JsonSchema = { type: "object", properties: {}, additionalProperties: false };

/** Declares a tool: what the model is told, how arguments are checked, and what a crash in the middle means. */
export function tool<
  const Schema extends AnySchema,
  Runtime = unknown,
  const Name extends string = string,
  Returned = unknown,
>(
  options: ToolOptions<Schema, Runtime, Name, Returned>,
): Tool<Runtime, Name, SchemaOutput<Schema>, ResultOf<Returned>> {
  assertToolOptions(options);
  const { name, execute, needsApproval = false, reuseResult = false } = options;
  if (typeof name !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
    throw new TypeError(
      "a tool's name must be 1 to 64 letters, digits, underscores or hyphens: models accept no others",
    );
  }
  if (typeof execute !== "function") throw new TypeError(`tool "${name}": execute must be a function`);
  const { timeoutMs } = options;
  if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= LONGEST_TIMER_MS)) {
    throw new TypeError(`tool "${name}": timeoutMs must be greater than 0 and at most ${LONGEST_TIMER_MS}`);
  }
  const effect = options.effect ?? (reuseResult ? "idempotent" : "atMostOnce");
  if (!EFFECTS.has(effect)) throw new TypeError(`tool "${name}": effect must be one of ${[...EFFECTS].join(", ")}`);
  return {
    name,
    description: options.description as Tool["description"],
    strict: options.strict,
    schema: readySchema(options.inputSchema ?? NO_ARGUMENTS, `tool "${name}": inputSchema`),
    effect,
    reusesResult: reuseResult,
    terminal: options.terminal ?? false,
    timeoutMs,
    retry: readyRetry(name, options.retry, effect),
    execute: execute as Tool["execute"],
    verify: options.verify as Tool["verify"],
    mayNeedApproval: needsApproval !== false,
    needsApproval: (input, place) =>
      typeof needsApproval === "function"
        ? needsApproval(input as SchemaOutput<Schema>, place as CallPlace<Runtime>)
        : needsApproval,
  };
}

export async function modelTool(
  { name, description, schema, strict }: Tool,
  place: ModelCallPlace,
): Promise<ModelTool> {
  const told: unknown = typeof description === "function" ? await description(place) : description;
  if (told !== undefined && typeof told !== "string") {
    throw new TypeError(`tool "${name}": description() must return a text, not ${described(told)}`);
  }
  return {
    name,
    ...(told !== undefined && { description: told }),
    ...(strict !== undefined && { strict }),
    inputSchema: schema.jsonSchema,
  };
}

const OPTIONS: OptionKinds<ToolOptions<AnySchema>> = {
  name: "string",
  description: ["string", "function"],
  strict: "boolean",
  // arktype's schemas are functions.
  inputSchema: ["object", "function"],
  execute: "function",
  effect: "string",
  reuseResult: "boolean",
  verify: "function",
  needsApproval: ["boolean", "function"],
  timeoutMs: "number",
  retry: "object",
  terminal: "boolean",
};

/** What other libraries call it. */
const ELSEWHERE: Readonly<Record<string, keyof typeof OPTIONS>> = {
  parameters: "inputSchema",
  schema: "inputSchema",
  input_schema: "inputSchema",
  args: "inputSchema",
  handler: "execute",
  run: "execute",
  func: "execute",
  invoke: "execute",
  call: "execute",
};

/** What tools of other libraries carry and what means nothing here. Everything else may be meant for us. */
const FOREIGN: ReadonlySet<string> = new Set([
  ...Object.keys(ELSEWHERE),
  "type",
  "id",
  "title",
  "outputSchema",
  "inputExamples",
  "providerOptions",
  "toModelOutput",
  "onInputStart",
  "onInputDelta",
  "onInputAvailable",
  "annotations",
  "_meta",
]);

/**
 * A tool of another library may bring members of its own, which mean nothing here; but
 * a misspelt `needsApproval` must not let a tool run unasked, and a schema under
 * another library's name for it must not be lost silently.
 */
function assertToolOptions(options: unknown): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    const name = typeof options === "function" ? options.name : "";
    const example = name === "" ? 'name: "…", execute: …' : `name: ${JSON.stringify(name)}, execute: ${name}`;
    throw new TypeError(`tool() takes an options object, not ${described(options)}. Write tool({ ${example} })`);
  }
  const given = options as Readonly<Record<string, unknown>>;
  const where = typeof given["name"] === "string" ? `tool ${JSON.stringify(given["name"])}` : "tool()";
  const names = Object.keys(OPTIONS);
  for (const name of Object.keys(given).filter((option) => !names.includes(option))) {
    const elsewhere = Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name] : undefined;
    const meant = elsewhere === undefined ? nearestName(name, names) : elsewhere;
    // Both: the other library's stays what it is there.
    if (FOREIGN.has(name) && (meant === undefined || given[meant] !== undefined)) continue;
    if (meant === undefined) throw unknownOption(where, name, names);
    throw new StateError(
      "INVALID_ARGUMENT",
      `${where} has no option ${JSON.stringify(name)}; did you mean ${JSON.stringify(meant)}?`,
    );
  }
  const own = Object.fromEntries(Object.entries(given).filter(([name]) => names.includes(name)));
  assertKnownOptions(where, own, OPTIONS);
}

/** How often a call that failed is tried again. */
export interface RetryOptions {
  /** How many attempts there are in all; those that a crash cut off count. */
  readonly attempts: number;
  /** The pause before the second attempt, which doubles each time up to a minute; or a function of the attempt that failed. @default 500 */
  readonly backoff?: number | ((attempt: number) => number);
}

interface ToolRetry {
  readonly attempts: number;
  pauseMs(attempt: number): number;
}

const LONGEST_PAUSE_MS = 60_000;

function readyRetry(name: string, retry: RetryOptions | undefined, effect: ToolEffect): ToolRetry | undefined {
  if (retry === undefined) return undefined;
  const { attempts, backoff = 500 } = retry;
  if (!(Number.isInteger(attempts) && attempts >= 1)) {
    throw new TypeError(`tool "${name}": retry.attempts must be a whole number from 1 on`);
  }
  if (typeof backoff !== "function" && !(backoff >= 0 && backoff <= LONGEST_TIMER_MS)) {
    throw new TypeError(`tool "${name}": retry.backoff must be a number of milliseconds, or a function of the attempt`);
  }
  if (effect === "atMostOnce") {
    throw new TypeError(
      `tool "${name}": a call that failed may have taken effect, so one with retry must be effect: "idempotent" ` +
        '(hand idempotencyKey to what you call) or "pure"',
    );
  }
  const pause = (attempt: number): number =>
    typeof backoff === "function" ? backoff(attempt) : Math.min(backoff * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
  return {
    attempts,
    pauseMs: (attempt) => Math.min(Math.max(Number(pause(attempt)) || 0, 0), LONGEST_TIMER_MS),
  };
}
