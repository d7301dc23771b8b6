import type { StateDelta } from "./delta.ts";
import { isPlainObject } from "./immutable.ts";
import type { AssistantMessage, Message } from "./message.ts";
import { ERASED, erasedValue, isAttributed, subjectsIn, subjectsOfMessage, subjectsOfValue } from "./subjects.ts";

/**
 * Removes what concerns certain people from stored states and their deltas. Each
 * list keeps its length, and each message its role, its calls and their results,
 * so that later deltas still apply and providers still accept the transcript.
 * Running it twice changes nothing more.
 */

export interface SweepRule {
  /** Whether this person is to be erased. */
  readonly matches: (subject: string) => boolean;
  /** The thread as a whole concerns such a person, and so does everything in it that does not say otherwise. */
  readonly isThreadMatched: boolean;
  /** Leaves the thread's own subjects in place, so that an interrupted erasure can still find them. */
  readonly keepsThreadSubject: boolean;
  /** Calls of erased messages: whatever else is kept of them goes too. */
  readonly calls: ReadonlySet<string>;
  /** Whether a legal hold keeps what is about this person: what is about others as well stays with it. */
  readonly keeps?: (subject: string) => boolean;
}

export type Found = { readonly kind: "message" | "field"; readonly path: string; readonly value: unknown };

type Fields = Readonly<Record<string, unknown>>;

/** Metadata keys that the package itself writes and that concern nobody. */
const STRUCTURAL: ReadonlySet<string> = new Set(["kind", "label", "task", "subject"]);

/** Collects what it removes. Returns the very same value if nothing concerned those people. */
export class Sweep {
  readonly found: Found[] = [];
  /** How much a legal hold kept from being removed. */
  kept = 0;
  readonly #rule: SweepRule;

  constructor(rule: SweepRule) {
    this.#rule = rule;
  }

  /** The fields of a state, or those that a delta sets. */
  fields<T extends Fields>(fields: T): T {
    return mapRecord(fields, (value, name) => this.#field(name, value)) as T;
  }

  delta(delta: StateDelta): StateDelta {
    const { set, append, lists, records } = delta;
    const next = {
      ...delta,
      ...(set !== undefined && { set: this.fields(set) }),
      ...(append !== undefined && { append: mapRecord(append, (items, name) => this.#list(name, items)) }),
      ...(lists !== undefined && {
        lists: mapRecord(lists, (list, name) => {
          const items = this.#list(name, list.items);
          return items === list.items ? list : { ...list, items };
        }),
      }),
      ...(records !== undefined && {
        records: mapRecord(records, (change, name) => {
          if (change.set === undefined) return change;
          const changed = this.#record(name, change.set);
          return changed === change.set ? change : { ...change, set: changed };
        }),
      }),
    };
    const names = ["set", "append", "lists", "records"] as const;
    return names.every((name) => next[name] === delta[name]) ? delta : next;
  }

  /** The metadata of a checkpoint, which are often those of the state. */
  metadata<T extends Fields>(metadata: T): T {
    return this.#record("metadata", metadata) as T;
  }

  /** A value outside a state: only parts that name a subject themselves are removed. */
  value(value: unknown, path: string): unknown {
    if (isAttributed(value)) {
      if (!this.#goes(subjectsOfValue(value))) return value;
      this.found.push({ kind: "field", path, value: value.value });
      return erasedValue;
    }
    if (Array.isArray(value)) return mapList(value, (each, index) => this.value(each, `${path}[${index}]`));
    if (isPlainObject(value)) return mapRecord(value, (each, name) => this.value(each, `${path}.${name}`));
    if (value instanceof Map) {
      const pairs = [...value];
      const swept = mapList(pairs, (pair) => mapList(pair, (each) => this.value(each, path)));
      return swept === pairs ? value : new Map(swept as readonly [unknown, unknown][]);
    }
    if (value instanceof Set) {
      const items = [...value];
      const swept = mapList(items, (each) => this.value(each, path));
      return swept === items ? value : new Set(swept);
    }
    return value;
  }

  /** Whether what is about these people goes. */
  #goes(subjects: readonly string[]): boolean {
    const { matches, keeps } = this.#rule;
    if (!subjects.some(matches)) return false;
    if (keeps === undefined || !subjects.some(keeps)) return true;
    this.kept++;
    return false;
  }

  #field(name: string, value: unknown): unknown {
    if (Array.isArray(value)) return this.#list(name, value);
    return isPlainObject(value) ? this.#record(name, value) : this.value(value, name);
  }

  #list<T>(name: string, items: readonly T[]): readonly T[] {
    return mapList(items, (item, index) => this.#item(name, item, `${name}[${index}]`) as T);
  }

  #item(name: string, item: unknown, path: string): unknown {
    if (!isPlainObject(item)) return this.value(item, path);
    if (name === "messages") return this.#message(item as unknown as Message, path);
    const isOurs = this.#rule.isThreadMatched || this.#rule.calls.has(String(item["toolCallId"]));
    const replaced = isOurs ? REPLACED[name] : undefined;
    if (replaced === undefined) return this.value(item, path);
    const held = Object.keys(replaced).filter((key) => Object.hasOwn(item, key) && !isSame(item[key], replaced[key]));
    if (held.length === 0) return item;
    this.found.push({ kind: "field", path, value: Object.fromEntries(held.map((key) => [key, item[key]])) });
    return mapRecord(item, (each, key) => (held.includes(key) ? replaced[key] : each));
  }

  #message(message: Message, path: string): Message {
    const subjects = subjectsOfMessage(message);
    const isMatched = subjects === undefined ? this.#rule.isThreadMatched : this.#goes(subjects);
    if (!isMatched) return this.value(message, path) as Message;
    this.found.push({ kind: "message", path, value: message });
    return placeholderFor(message);
  }

  #record(name: string, record: Fields): Fields {
    if (name === "artifacts") return mapRecord(record, (value, key) => this.#artifact(key, value));
    const isContent = name === "metadata" || name === "providerState";
    return mapRecord(record, (value, key) => {
      const path = `${name}.${key}`;
      if (name === "metadata" && key === "subject") return this.#threadSubject(value);
      if (name === "metadata" && key === "working" && isPlainObject(value)) {
        return mapRecord(value, (each, inner) => this.#content(each, `${path}.${inner}`));
      }
      const isStructural = STRUCTURAL.has(key) || key.startsWith("holdfast.");
      return isContent && !isStructural ? this.#content(value, path) : this.value(value, path);
    });
  }

  /** What follows the thread's subject unless it names its own. */
  #content(value: unknown, path: string): unknown {
    if (!this.#rule.isThreadMatched || isAttributed(value)) return this.value(value, path);
    if (isSame(value, ERASED) || typeof value === "boolean" || value === null) return value;
    this.found.push({ kind: "field", path, value });
    return ERASED;
  }

  #artifact(name: string, value: unknown): unknown {
    if (!this.#rule.isThreadMatched && !this.#rule.calls.has(name)) return value;
    if (value === ERASED) return value;
    this.found.push({ kind: "field", path: `artifacts.${name}`, value });
    return ERASED;
  }

  #threadSubject(subject: unknown): unknown {
    const subjects = subjectsIn(subject);
    const kept = subjects.filter((each) => !this.#rule.matches(each));
    if (this.#rule.keepsThreadSubject || kept.length === subjects.length) return subject;
    this.found.push({ kind: "field", path: "metadata.subject", value: subject });
    return kept;
  }
}

/** Of what is kept beside the conversation: the parts that repeat what somebody said. */
const REPLACED: Readonly<Record<string, Fields>> = {
  // A hash that no call has: a call whose arguments are gone is refused, and never run without them.
  toolExecutions: { error: ERASED, argumentsHash: "erased" },
  interrupts: { question: ERASED, answer: { value: ERASED, at: 0 }, schema: {} },
  reasoningSteps: { thought: ERASED },
  errors: { message: ERASED },
};

const isSame = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

function placeholderFor(message: Message): Message {
  const { role, id } = message;
  const isEmpty = message.content.length === 0;
  // The package's own marks say what kind of message it is.
  const marks = Object.entries(message.metadata ?? {}).filter(([name]) => name.startsWith("holdfast."));
  const metadata = { ...Object.fromEntries(marks), erased: true };
  const kept = { ...(id !== undefined && { id }), content: isEmpty ? "" : ERASED, metadata };
  if (role === "tool") {
    const { toolCallId, toolName, isError } = message;
    return { role, ...kept, toolCallId, toolName, ...(isError !== undefined && { isError }) };
  }
  if (role !== "assistant") return { role, ...kept };
  const { toolCalls, incomplete } = message as AssistantMessage;
  return {
    role,
    ...kept,
    ...(toolCalls !== undefined && {
      toolCalls: toolCalls.map((call) => ({ id: call.id, name: call.name, arguments: {} })),
    }),
    ...(incomplete !== undefined && { incomplete }),
  };
}

/** The ids of the calls that a message asks for or answers. */
export function callsOf(message: Message): readonly string[] {
  if (message.role === "tool") return [message.toolCallId];
  return message.role === "assistant" ? (message.toolCalls ?? []).map(({ id }) => id) : [];
}

/** Returns the same list if every item stays the same. */
function mapList<T>(list: readonly T[], change: (item: T, index: number) => unknown): readonly T[] {
  let next: T[] | undefined;
  for (const [index, item] of list.entries()) {
    const changed = change(item, index) as T;
    if (changed !== item) next ??= list.slice(0, index);
    next?.push(changed);
  }
  return next ?? list;
}

function mapRecord<R extends Fields>(record: R, change: (value: R[string], name: string) => unknown): R {
  let next: Map<string, unknown> | undefined;
  for (const name of Object.keys(record)) {
    const value = record[name] as R[string];
    const changed = change(value, name);
    if (changed === value) continue;
    // Setting a key again leaves it where it is.
    next ??= new Map(Object.entries(record));
    next.set(name, changed);
  }
  return next === undefined ? record : (Object.fromEntries(next) as R);
}
