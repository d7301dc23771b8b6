import { StateError } from "../errors.ts";
import { callAt } from "./call-facts.ts";
import { decodeValue, encodeOwnedValue, type JsonValue } from "./codec.ts";
import { FIELD_DEPTH, ITEM_DEPTH, immutablePart, isOwned, isPlainObject, own } from "./immutable.ts";
import { Descendant } from "./lineage.ts";
import { longer, madeFrom } from "./list-lines.ts";
import type { Message } from "./message.ts";
import { makeNote, noteOn } from "./owned-mark.ts";
import {
  EMPTY_FIELDS,
  faultInFields,
  faultInMessage,
  type Interrupt,
  type ReasoningStep,
  type RecordedError,
  type StateFields,
  type ThreadTotals,
  type ToolExecution,
} from "./state-fields.ts";

/** The version of the stored form. Older versions load for ever; a newer one is refused as `INCOMPATIBLE`. */
export const FORMAT_VERSION = 1;

/** Noted on the fields of every state that was made: making another state of them needs no second look. */
const VALID = Symbol("the fields of a state");

/**
 * Everything one thread knows. Immutable: each `with…` returns a new state that
 * shares all it did not change, which is what makes a save cost only what is new.
 */
export class AgentState extends Descendant {
  readonly #fields: StateFields;

  private constructor(fields: StateFields, parent?: AgentState) {
    super(parent);
    this.#fields = fields;
    makeNote(fields, VALID);
  }

  static create(fields: Partial<StateFields> = {}): AgentState {
    return AgentState.fromFields({ ...EMPTY_FIELDS, ...fields });
  }

  /** The counterpart of `fields`; unknown fields are kept. */
  static fromFields(fields: StateFields): AgentState {
    if (noteOn(fields) === VALID) return new AgentState(fields);
    // A stored value passed the doorway when it was saved. Limits apply to what enters; whatever was saved loads.
    const copy = isOwned(fields) ? fields : immutablePart(fields, "state", 0);
    const fault = faultInFields(copy as unknown as Readonly<Record<string, unknown>>);
    if (fault !== undefined) throw new StateError("INVALID_ARGUMENT", `state.${fault}`, { path: `state.${fault}` });
    return new AgentState(copy);
  }

  /** The state that `toCheckpoint` returned, possibly in another process or another year. */
  static fromCheckpoint(checkpoint: unknown): AgentState {
    const { format, state } = (checkpoint ?? {}) as { format?: unknown; state?: unknown };
    if (typeof format !== "number" || typeof state !== "object" || state === null) {
      throw new StateError("INVALID_ARGUMENT", "this is not a checkpoint: expected { format, state }");
    }
    assertKnownFormat(format, "the checkpoint");
    return AgentState.fromFields({ ...EMPTY_FIELDS, ...(decodeValue(state, "checkpoint.state") as StateFields) });
  }

  /** Plain JSON that `fromCheckpoint` turns back into an equal state. */
  toCheckpoint(): { readonly format: number; readonly state: JsonValue } {
    return { format: FORMAT_VERSION, state: encodeOwnedValue(this.#fields, "state") };
  }

  get fields(): StateFields {
    return this.#fields;
  }

  get messages(): readonly Message[] {
    return this.#fields.messages;
  }

  get toolExecutions(): readonly ToolExecution[] {
    return this.#fields.toolExecutions;
  }

  get reasoningSteps(): readonly ReasoningStep[] {
    return this.#fields.reasoningSteps;
  }

  get errors(): readonly RecordedError[] {
    return this.#fields.errors;
  }

  get interrupts(): readonly Interrupt[] {
    return this.#fields.interrupts;
  }

  get artifacts(): Readonly<Record<string, string>> {
    return this.#fields.artifacts;
  }

  get totals(): ThreadTotals {
    return this.#fields.totals;
  }

  get providerState(): Readonly<Record<string, unknown>> {
    return this.#fields.providerState;
  }

  get metadata(): Readonly<Record<string, unknown>> {
    return this.#fields.metadata;
  }

  get overlay(): unknown {
    return this.#fields.overlay;
  }

  get agentId(): string | undefined {
    return this.#fields.agentId;
  }

  /** This state with some fields replaced. The others, and every part that is reused, stay shared. */
  with(changes: Partial<StateFields>): AgentState {
    const copy = immutablePart(changes, "state", 0);
    const fault = faultInFields({ ...EMPTY_FIELDS, ...copy });
    if (fault !== undefined) throw new StateError("INVALID_ARGUMENT", `state.${fault}`, { path: `state.${fault}` });
    return this.#derive(copy);
  }

  /** For parts that already passed the doorway. Its cost does not depend on the length of the conversation. */
  #derive(changes: Partial<StateFields>): AgentState {
    return new AgentState(own({ ...this.#fields, ...changes }), this);
  }

  withMessage(message: Message): AgentState {
    return this.withMessages([message]);
  }

  /** Adds to the end of the conversation. */
  withMessages(messages: readonly Message[]): AgentState {
    const added = immutablePart(messages, "state.messages", FIELD_DEPTH);
    for (const message of added) {
      const fault = faultInMessage(message);
      if (fault !== undefined) throw new StateError("INVALID_ARGUMENT", `the message${fault}`);
    }
    return this.#derive({ messages: longer(this.messages, added) });
  }

  /** Replaces the conversation: an edit, or a compaction. */
  withHistory(messages: readonly Message[]): AgentState {
    return this.with({ messages });
  }

  /** Adds a tool call's record, or replaces the one with the same call id. */
  withToolExecution(execution: ToolExecution): AgentState {
    const known = callAt(this.toolExecutions, execution.toolCallId);
    if (known === -1) {
      return this.#derive({ toolExecutions: appended(this.toolExecutions, [execution], "state.toolExecutions") });
    }
    const copy = immutablePart(execution, "state.toolExecutions", ITEM_DEPTH);
    return this.#derive({ toolExecutions: replaced(this.toolExecutions, known, copy) });
  }

  /** Adds a question to a person, or replaces the one with the same id. */
  withInterrupt(interrupt: Interrupt): AgentState {
    const known = this.interrupts.findIndex((other) => other.id === interrupt.id);
    if (known === -1) return this.#derive({ interrupts: appended(this.interrupts, [interrupt], "state.interrupts") });
    const copy = immutablePart(interrupt, "state.interrupts", ITEM_DEPTH);
    return this.#derive({ interrupts: replaced(this.interrupts, known, copy) });
  }

  withArtifact(name: string, text: string): AgentState {
    return this.#derive({ artifacts: merged(this.artifacts, { [name]: text }, "state.artifacts") });
  }

  withReasoningStep(step: ReasoningStep): AgentState {
    return this.#derive({ reasoningSteps: appended(this.reasoningSteps, [step], "state.reasoningSteps") });
  }

  withError(error: RecordedError): AgentState {
    return this.#derive({ errors: appended(this.errors, [error], "state.errors") });
  }

  /** Adds to the thread's totals. */
  withUsage(added: Partial<ThreadTotals>): AgentState {
    const totals: Record<string, number> = { ...this.totals };
    for (const [name, count] of Object.entries(added)) totals[name] = (totals[name] ?? 0) + count;
    return this.#derive({ totals: immutablePart(totals, "state.totals", FIELD_DEPTH) as unknown as ThreadTotals });
  }

  /** Merges keys into the thread's metadata; a key set to `undefined` is removed. */
  withMetadata(changes: Readonly<Record<string, unknown>>): AgentState {
    return this.#derive({ metadata: merged(this.metadata, changes, "state.metadata") });
  }

  /** Merges keys into what providers want back; a key set to `undefined` is removed. */
  withProviderState(changes: Readonly<Record<string, unknown>>): AgentState {
    return this.#derive({ providerState: merged(this.providerState, changes, "state.providerState") });
  }
}

export function assertKnownFormat(format: number, what: string): void {
  if (format > FORMAT_VERSION) {
    throw new StateError(
      "INCOMPATIBLE",
      `${what} was written by format v${format}; this build reads up to v${FORMAT_VERSION}. Upgrade holdfast to read it`,
    );
  }
}

/** Owned without checking the old items again: they were checked when they entered. */
function appended<T>(list: readonly T[], items: readonly T[], name: string): readonly T[] {
  return longer(list, immutablePart(items, name, FIELD_DEPTH));
}

/** Spread, because `with` and `slice` are slow on frozen lists. */
function replaced<T>(list: readonly T[], index: number, item: T): readonly T[] {
  const copy = [...list];
  copy[index] = item;
  return madeFrom(list, own(copy), index);
}

/** Owned for the same reason: what stays was checked when it entered. */
function merged<T>(
  record: Readonly<Record<string, T>>,
  changes: Readonly<Record<string, T>>,
  name: string,
): Readonly<Record<string, T>> {
  const copy = immutablePart(changes, name, FIELD_DEPTH);
  if (!isPlainObject(copy)) throw new StateError("INVALID_ARGUMENT", `${name} must be an object`, { path: name });
  const entries = new Map(Object.entries(record));
  for (const [key, value] of Object.entries(copy)) {
    if (value === undefined) entries.delete(key);
    else entries.set(key, value);
  }
  return own(Object.fromEntries(entries));
}
