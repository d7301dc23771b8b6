import type { Message } from "./message.ts";

/** One call of a tool. The result itself is the tool message with the same call id: it is stored once. */
export interface ToolExecution {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly status: "intended" | "started" | "succeeded" | "failed" | "unknown" | "waiting";
  /** Handed to the tool; the same for every attempt at this call. */
  readonly idempotencyKey?: string;
  /** Tells whether a call that is resumed is still the call that was recorded. */
  readonly argumentsHash?: string;
  readonly startedAt?: number;
  readonly settledAt?: number;
  readonly error?: string;
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

/** Sums over the whole life of the thread. The limits and counters of one run are not state: they end with the run. */
export interface ThreadTotals {
  readonly runs: number;
  readonly iterations: number;
  readonly toolCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
}

/** Everything that a checkpoint holds. Fields of a newer version that this one does not know are kept as they are. */
export interface StateFields {
  readonly messages: readonly Message[];
  readonly toolExecutions: readonly ToolExecution[];
  readonly reasoningSteps: readonly ReasoningStep[];
  readonly errors: readonly RecordedError[];
  readonly totals: ThreadTotals;
  /** What a provider wants back on the next call, by provider. */
  readonly providerState: Readonly<Record<string, unknown>>;
  /** Yours. Give it a schema version and a migration with `stateSchema`. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly agentId?: string;
}

export const EMPTY_FIELDS: StateFields = {
  messages: [],
  toolExecutions: [],
  reasoningSteps: [],
  errors: [],
  totals: { runs: 0, iterations: 0, toolCalls: 0, inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
  providerState: {},
  metadata: {},
};

const LISTS = ["messages", "toolExecutions", "reasoningSteps", "errors"] as const;
const RECORDS = ["totals", "providerState", "metadata"] as const;
const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool"]);

/** Says what is wrong with fields that came from outside, or `undefined` when they can be a state. */
export function faultInFields(fields: Readonly<Record<string, unknown>>): string | undefined {
  for (const name of LISTS) if (!Array.isArray(fields[name])) return `${name} must be a list`;
  for (const name of RECORDS) if (!isRecord(fields[name])) return `${name} must be an object`;
  for (const [index, message] of (fields["messages"] as readonly unknown[]).entries()) {
    const fault = faultInMessage(message);
    if (fault !== undefined) return `messages[${index}]${fault}`;
  }
  return undefined;
}

export function faultInMessage(message: unknown): string | undefined {
  if (!isRecord(message)) return " must be an object";
  const { role, content } = message;
  if (!ROLES.has(role)) return `.role must be one of ${[...ROLES].join(", ")}`;
  if (typeof content !== "string" && !Array.isArray(content)) return ".content must be a string or a list of parts";
  return undefined;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
