import { StateError } from "../errors.ts";
import { conversationOf, GrownList, ListFact } from "./growing-list.ts";
import type { Message } from "./message.ts";
import { isPlainObject } from "./values/doorway.ts";

/** One tool call. Its result is the tool message with the same call id, which is stored once. */
export interface ToolExecution {
  readonly toolCallId: string;
  readonly toolName: string;
  /**
   * `intended`: asked for, not started. `started`: no outcome recorded yet. `waiting`:
   * for a person. `pending`: work outside this process will complete it. The others are
   * final, and their result is in the conversation; `unknown` means that the call may
   * or may not have taken effect.
   */
  readonly status: "intended" | "started" | "waiting" | "pending" | "succeeded" | "failed" | "unknown" | "denied";
  /** Passed to the tool. It is the same for every attempt at this call. */
  readonly idempotencyKey?: string;
  /** Tells whether a resumed call is still the call that was recorded. */
  readonly argumentsHash?: string;
  /** What it was started with, where that is not what the model asked for. */
  readonly arguments?: unknown;
  /** The effect that the tool declared when the call was asked for. It decides what a crash in the middle means. */
  readonly effect?: "pure" | "idempotent" | "atMostOnce";
  /** The turn ends if this call succeeds. */
  readonly terminal?: true;
  readonly attempts?: number;
  readonly startedAt?: number;
  readonly settledAt?: number;
  /** Attempts that failed and were followed by another one. */
  readonly failures?: readonly { readonly attempt: number; readonly at: number; readonly error: string }[];
  /** Before this time it is not tried again. */
  readonly retryAt?: number;
  /** The thread of the sub-agent that works on it. */
  readonly childThreadId?: string;
  /** The calls of that sub-agent which the caller's thread waits for, by the ids that they have there. */
  readonly waitsFor?: readonly WaitingCall[];
  /** The time by which the work must be completed. */
  readonly dueAt?: number;
  readonly error?: string;
  /** Set if only a person can say how it ended. */
  readonly settledBy?: { readonly by: string; readonly reason?: string };
}

/** A call of a sub-agent, at any depth, that is completed from outside. */
export interface WaitingCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly idempotencyKey?: string;
  readonly dueAt?: number;
}

/** A question to a person. It is state: any process may bring the answer. */
export interface Interrupt {
  readonly id: string;
  readonly toolCallId: string;
  readonly kind: "question" | "approval";
  readonly question: string;
  /** JSON Schema of the answer, where the tool gave one. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** How the tool recognises the question, if it gave a key; otherwise by its words and schema. */
  readonly key?: string;
  readonly askedAt: number;
  /** Where a sub-agent asks: the question in its own thread, which gets the answer. */
  readonly child?: { readonly threadId: string; readonly interruptId: string };
  readonly answer?: InterruptAnswer;
}

export interface InterruptAnswer {
  readonly value: unknown;
  readonly at: number;
  /** The answer was refused: the call that asked is settled as denied. */
  readonly declined?: true;
  readonly reason?: string;
  /** Who gave it, where the sender said so. */
  readonly by?: string;
}

export interface ReasoningStep {
  readonly iteration: number;
  readonly thought: string;
  readonly confidence?: number;
}

export interface RecordedError {
  readonly at: number;
  readonly where: string;
  readonly message: string;
}

/**
 * Totals over the whole life of the thread. The limits and counters of a single
 * run are not state: they end with the run.
 */
export interface ThreadTotals {
  readonly runs: number;
  readonly iterations: number;
  readonly toolCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
  /** In the money of the agent's price table, of the calls whose models it knew. */
  readonly cost?: number;
}

/** Everything that a checkpoint holds. Fields of a newer version that this one does not know are kept as they are. */
export interface StateFields {
  readonly messages: readonly Message[];
  readonly toolExecutions: readonly ToolExecution[];
  readonly reasoningSteps: readonly ReasoningStep[];
  readonly errors: readonly RecordedError[];
  readonly interrupts: readonly Interrupt[];
  /** Tool results that were too large for a message, by the name used in the message. */
  readonly artifacts: Readonly<Record<string, string>>;
  readonly totals: ThreadTotals;
  /** What a provider wants back on the next call, by provider. */
  readonly providerState: Readonly<Record<string, unknown>>;
  /** Yours. Give it a schema version and a migration with `stateSchema`. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly agentId?: string;
  /**
   * What the agent's conversation port keeps for this thread: which part of the
   * messages a model sees, and in what form.
   */
  readonly overlay?: unknown;
}

export const EMPTY_FIELDS: StateFields = {
  messages: [],
  toolExecutions: [],
  reasoningSteps: [],
  errors: [],
  interrupts: [],
  artifacts: {},
  totals: { runs: 0, iterations: 0, toolCalls: 0, inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
  providerState: {},
  metadata: {},
};

const OTHER_LISTS = ["toolExecutions", "reasoningSteps", "errors", "interrupts"] as const;
const RECORDS = ["artifacts", "totals", "providerState", "metadata"] as const;
const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool"]);

/** Lists whose items are known again by one of their fields. */
const NAMED_BY: Readonly<Record<string, string>> = { toolExecutions: "toolCallId", interrupts: "id" };

/**
 * Says what is wrong with an item that enters a list of a state. Whatever works on a thread counts on it later, far from
 * the mistake. What was stored is not asked again: it loads for ever.
 */
export function faultInItem(list: string, item: unknown): string | undefined {
  if (!isPlainObject(item)) return " must be an object";
  const name = NAMED_BY[list];
  return name === undefined || typeof item[name] === "string" ? undefined : `.${name} must be a text`;
}

/** The same for all parts of fields that enter. The messages are looked at by `faultInFields`. */
export function faultInParts(fields: Partial<Omit<StateFields, "messages">>): string | undefined {
  for (const list of OTHER_LISTS) {
    for (const [index, item] of (fields[list] ?? []).entries()) {
      const fault = faultInItem(list, item);
      if (fault !== undefined) return `${list}[${index}]${fault}`;
    }
  }
  for (const [name, text] of Object.entries(fields.artifacts ?? {})) {
    if (typeof text !== "string") return `artifacts[${JSON.stringify(name)}] must be a text`;
  }
  return faultInTotals(fields.totals ?? {});
}

/** A total that is no number stays none, whatever is added to it. */
export function faultInTotals(totals: object): string | undefined {
  const wrong = Object.entries(totals).find(([, count]) => count !== undefined && !Number.isFinite(count));
  return wrong && `totals.${wrong[0]} must be a finite number`;
}

/** Says what is wrong with fields that came from outside, or `undefined` if they form a valid state. */
export function faultInFields(fields: Readonly<Record<string, unknown>>): string | undefined {
  const conversation = conversationOf(fields as unknown as StateFields);
  if (!(Array.isArray(conversation) || conversation instanceof GrownList)) return "messages must be a list";
  for (const name of OTHER_LISTS) if (!Array.isArray(fields[name])) return `${name} must be a list`;
  for (const name of RECORDS) if (!isPlainObject(fields[name])) return `${name} must be an object`;
  return faultInMessages.of(conversation).fact;
}

/** What was looked through once is not looked through again when more is read behind it. */
const faultInMessages = new ListFact<unknown, string | undefined>(
  () => undefined,
  (known, message, index) => {
    if (known !== undefined) return known;
    const fault = faultInMessage(message);
    return fault === undefined ? undefined : `messages[${index}]${fault}`;
  },
);

export function faultInMessage(message: unknown): string | undefined {
  if (!isPlainObject(message)) return " must be an object";
  const { role, content } = message;
  if (!ROLES.has(role)) return `.role must be one of ${[...ROLES].join(", ")}`;
  if (typeof content !== "string" && !Array.isArray(content)) return ".content must be a string or a list of parts";
  return undefined;
}

/** The version of *your* part of the state (metadata, provider state), and how to migrate an older one. */
export interface StateSchema {
  /** A whole number, 1 or greater. States saved without a schema count as version 0. */
  readonly version: number;
  /**
   * Called once for each version between the stored one and `version`, in order:
   * `migrate(fields, 0)` turns version 0 into 1. Must return new fields and leave the given ones alone.
   */
  migrate(fields: StateFields, fromVersion: number): StateFields;
}

export function migrateFields(fields: StateFields, stored: number, schema: StateSchema | undefined): StateFields {
  const target = schema?.version ?? stored;
  if (stored > target) {
    throw new StateError(
      "INCOMPATIBLE",
      `the state has schema version ${stored}; this program knows up to ${target}. Deploy the newer program to read it`,
    );
  }
  let migrated = fields;
  for (let version = stored; schema !== undefined && version < target; version++) {
    migrated = schema.migrate(migrated, version);
  }
  return migrated;
}
