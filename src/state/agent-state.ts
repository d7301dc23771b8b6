import { StateError } from "../errors.ts";
import { callAt } from "./call-facts.ts";
import {
  EMPTY_FIELDS,
  faultInFields,
  faultInItem,
  faultInMessage,
  faultInParts,
  faultInTotals,
  type Interrupt,
  type ReasoningStep,
  type RecordedError,
  type StateFields,
  type ThreadTotals,
  type ToolExecution,
} from "./fields.ts";
import { conversationOf, fieldsWith, grownBy, longer, madeFrom } from "./growing-list.ts";
import { Descendant } from "./lineage.ts";
import type { Message } from "./message.ts";
import { decodeValue, encodeOwnedValue, type JsonValue } from "./values/codec.ts";
import {
  FIELD_DEPTH,
  ITEM_DEPTH,
  immutablePart,
  isOwned,
  isPlainObject,
  makeNote,
  noteOn,
  own,
} from "./values/doorway.ts";

/** The version of the stored form. Older versions load for ever; a newer one is refused as `INCOMPATIBLE`. */
export const FORMAT_VERSION = 1;

/** The fields of a state, of which `messages` may not be read yet: see `growing-list.ts`. */
export let heldFieldsOf: (state: AgentState) => StateFields;

/** The note on fields that form a state: making another state of them needs no second look. */
const VALID = "valid";

/** The state that holds these fields, all of which passed the doorway. */
export let stateHolding: (fields: StateFields) => AgentState;

/**
 * Everything one thread knows. Immutable: each `with…` returns a new state that
 * shares all it did not change, which is what makes a save cost only what is new.
 */
export class AgentState extends Descendant {
  readonly #fields: StateFields;

  private constructor(fields: StateFields, parent?: AgentState) {
    super(parent);
    if (!isObject(fields) || !isOwned(fields)) {
      throw new TypeError(
        "a state is made by AgentState.create({ messages: […] }), and another one from it by its with…() methods",
      );
    }
    this.#fields = fields;
    makeNote(fields, VALID);
  }

  static {
    heldFieldsOf = (state) => state.#fields;
    stateHolding = (fields) => {
      if (noteOn(fields) === VALID) return new AgentState(fields);
      const fault = faultInFields(fields as unknown as Readonly<Record<string, unknown>>);
      if (fault !== undefined) throw refused(fault);
      return new AgentState(fields);
    };
  }

  static create(fields: Partial<StateFields> = {}): AgentState {
    assertFields("AgentState.create()", fields);
    const made = AgentState.fromFields({ ...EMPTY_FIELDS, ...fields });
    const fault = faultInParts(made.#fields);
    if (fault !== undefined) throw refused(fault);
    return made;
  }

  /** The counterpart of `fields`; unknown fields are kept. */
  static fromFields(fields: StateFields): AgentState {
    assertFields("AgentState.fromFields()", fields);
    // A stored value passed the doorway when it was saved. Limits apply to what enters; whatever was saved loads.
    return stateHolding(isOwned(fields) ? fields : immutablePart(fields, "state", 0));
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
    return { format: FORMAT_VERSION, state: encodeOwnedValue(this.fields, "state") };
  }

  get fields(): StateFields {
    // Fields leave this object only after their conversation was read.
    if (!Object.isFrozen(this.#fields)) void this.#fields.messages;
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
    assertFields("with()", changes);
    const copy = immutablePart(changes, "state", 0);
    const fault = faultInFields({ ...EMPTY_FIELDS, ...copy }) ?? faultInParts(copy);
    if (fault !== undefined) throw refused(fault);
    return this.#derive(copy);
  }

  /** For parts that already passed the doorway. Its cost does not depend on the length of the conversation. */
  #derive(changes: Readonly<Record<string, unknown>>): AgentState {
    return new AgentState(fieldsWith(this.#fields, changes), this);
  }

  withMessage(message: Message): AgentState {
    return this.withMessages([message]);
  }

  /** Adds to the end of the conversation. */
  withMessages(messages: readonly Message[]): AgentState {
    if (!Array.isArray(messages)) {
      throw new StateError("INVALID_ARGUMENT", "withMessages() takes a list of messages; withMessage() takes one");
    }
    const added = immutablePart(messages, "state.messages", FIELD_DEPTH);
    for (const message of added) {
      const fault = faultInMessage(message);
      if (fault !== undefined) throw new StateError("INVALID_ARGUMENT", `the message${fault}`);
    }
    return this.#derive({ messages: grownBy(conversationOf(this.#fields), added) });
  }

  /** Replaces the conversation: an edit, or a compaction. */
  withHistory(messages: readonly Message[]): AgentState {
    return this.with({ messages });
  }

  /** Adds a tool call's record, or replaces the one with the same call id. */
  withToolExecution(execution: ToolExecution): AgentState {
    assertItem("toolExecutions", execution);
    const known = callAt(this.toolExecutions, execution.toolCallId);
    if (known === -1) {
      return this.#derive({ toolExecutions: appended(this.toolExecutions, [execution], "state.toolExecutions") });
    }
    const copy = immutablePart(execution, "state.toolExecutions", ITEM_DEPTH);
    return this.#derive({ toolExecutions: replaced(this.toolExecutions, known, copy) });
  }

  /** Adds a question to a person, or replaces the one with the same id. */
  withInterrupt(interrupt: Interrupt): AgentState {
    assertItem("interrupts", interrupt);
    const known = this.interrupts.findIndex((other) => other.id === interrupt.id);
    if (known === -1) return this.#derive({ interrupts: appended(this.interrupts, [interrupt], "state.interrupts") });
    const copy = immutablePart(interrupt, "state.interrupts", ITEM_DEPTH);
    return this.#derive({ interrupts: replaced(this.interrupts, known, copy) });
  }

  withArtifact(name: string, text: string): AgentState {
    if (typeof text !== "string") throw refused(`artifacts[${JSON.stringify(name)}] must be a text`);
    return this.#derive({ artifacts: merged(this.artifacts, { [name]: text }, "state.artifacts") });
  }

  withReasoningStep(step: ReasoningStep): AgentState {
    assertItem("reasoningSteps", step);
    return this.#derive({ reasoningSteps: appended(this.reasoningSteps, [step], "state.reasoningSteps") });
  }

  withError(error: RecordedError): AgentState {
    assertItem("errors", error);
    return this.#derive({ errors: appended(this.errors, [error], "state.errors") });
  }

  /** Adds to the thread's totals. */
  withUsage(added: Partial<ThreadTotals>): AgentState {
    const fault = isPlainObject(added) ? faultInTotals(added) : "totals must be an object";
    if (fault !== undefined) throw refused(fault);
    const totals: Record<string, number> = { ...this.totals };
    for (const [name, count = 0] of Object.entries(added)) totals[name] = (totals[name] ?? 0) + count;
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

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const refused = (fault: string): StateError =>
  new StateError("INVALID_ARGUMENT", `state.${fault}`, { path: `state.${fault}` });

/** A list of messages, or another state, has none of the fields: it would silently become an empty state. */
function assertFields(method: string, fields: unknown): void {
  const prototype: unknown = isObject(fields) ? Object.getPrototypeOf(fields) : undefined;
  // Of another realm too: its prototype is the last one there.
  if (prototype === null || (isObject(prototype) && Object.getPrototypeOf(prototype) === null)) return;
  const advice = fields instanceof AgentState ? "; a state is changed by its own with…() methods" : "";
  throw new StateError("INVALID_ARGUMENT", `${method} takes the fields of a state, such as { messages: […] }${advice}`);
}

function assertItem(list: string, item: unknown): void {
  const fault = faultInItem(list, item);
  if (fault !== undefined) throw refused(`${list}[]${fault}`);
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
