import type { StateDelta } from "../delta.ts";
import type { Message } from "../message.ts";
import { isPlainObject } from "../values/doorway.ts";
import { emptied, mapList, mapRecord, type Rule, rowsFor, without } from "./field-rule.ts";
import { BODY_RULES, STATE_RULES, type Whose } from "./personal-fields.ts";
import {
  type Attributed,
  ERASED,
  erasedValue,
  isAttributed,
  subjectsIn,
  subjectsOfMessage,
  subjectsOfValue,
} from "./subjects.ts";

/**
 * Removes what concerns certain people from stored states and their deltas, as the rows in `personal-fields.ts` say.
 * Each list keeps its length, and each message its role, its calls and their results, so that later deltas still
 * apply and providers still accept the transcript. Running it twice changes nothing more.
 */

/** Without more than `matches`, only what names people itself is looked at. */
export interface SweepRule {
  /** Whether this person is to be erased. */
  readonly matches: (subject: string) => boolean;
  /** The thread as a whole concerns such a person, and so does everything in it that does not say otherwise. */
  readonly isThreadMatched?: boolean;
  /** Leaves the thread's own subjects in place, so that an interrupted erasure can still find them. */
  readonly keepsThreadSubject?: boolean;
  /** Leaves everything that names people, for the same reason. */
  readonly keepsNames?: boolean;
  /** Calls of erased messages: whatever else is kept of them goes too. */
  readonly calls?: ReadonlySet<string>;
  /**
   * Whether the owner of this call is known. Content of an unknown call may belong to any
   * person of the thread.
   */
  readonly knowsCall?: (id: string) => boolean;
  /**
   * Whether the person being erased occurs anywhere in the thread. Asked for content that may quote any
   * person in it.
   */
  readonly concernsEveryone?: () => boolean;
  /** Whether a legal hold keeps what is about this person: what is about others as well stays with it. */
  readonly keeps?: (subject: string) => boolean;
  /**
   * Content that may quote a person under a legal hold stays. Until it goes, the name of the erased person stays beside
   * it, without what they said: it records whom else the content may quote.
   */
  readonly keepsShared?: boolean;
}

export type Found = { readonly kind: "message" | "field"; readonly path: string; readonly value: unknown };

type Fields = Readonly<Record<string, unknown>>;

/**
 * Whose a field of a state is, and what becomes of it. A field without a row counts as personal, of every
 * person in the thread.
 */
const rowOf = (name: string): { readonly whose: Whose; readonly rule: Rule } =>
  (Object.hasOwn(BODY_RULES, name) ? BODY_RULES[name] : undefined) ?? { whose: "all", rule: emptied };

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
    return mapRecord(fields, (value, name) => this.#field(name, value));
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
      if (!this.#goes(subjectsOfValue(value))) {
        const inner = this.value(value.value, path);
        return inner === value.value ? value : { ...value, value: inner };
      }
      if (this.#rule.keepsShared === true && value.value === ERASED) return value;
      this.found.push({ kind: "field", path, value: value.value });
      return this.#rule.keepsShared === true ? { ...value, value: ERASED } : erasedValue;
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
    const { matches, keeps, keepsNames = false } = this.#rule;
    // All of them are asked about: who asks may note whom the thread is about.
    if (subjects.filter(matches).length === 0 || keepsNames) return false;
    if (keeps === undefined || !subjects.some(keeps)) return true;
    this.kept++;
    return false;
  }

  #field(name: string, value: unknown): unknown {
    if (Array.isArray(value)) return this.#list(name, value);
    if (isPlainObject(value) && !isAttributed(value)) return this.#record(name, value);
    const { whose, rule } = rowOf(name);
    return this.#part(whose, rule, value, name);
  }

  #list<T>(name: string, items: readonly T[]): readonly T[] {
    const { whose, rule } = rowOf(name);
    const each = "each" in rule ? rule.each : emptied;
    return mapList(items, (item, index) => {
      const path = `${name}[${index}]`;
      if (!isPlainObject(item)) return this.#part(whose, each, item, path);
      if (whose === "message") return this.#message(item as unknown as Message, path);
      return this.#part(whose, each, item, path, callIn(item));
    });
  }

  #record(name: string, record: Fields): Fields {
    const { whose, rule } = rowOf(name);
    const rows = "own" in rule || "fields" in rule ? rowsFor(rule, record) : () => emptied;
    return mapRecord(record, (value, key) => {
      if (name === "metadata" && key === "subject" && namesPeople(value)) return this.#threadSubject(value);
      return this.#part(whose, rows(key), value, `${name}.${key}`, name === "artifacts" ? key : undefined);
    });
  }

  #message(message: Message, path: string): Message {
    const subjects = peopleOf(message);
    const isMatched = subjects === undefined ? this.#rule.isThreadMatched === true : this.#goes(subjects);
    if (!isMatched) return this.value(message, path) as Message;
    const left = this.#rule.keepsShared === true ? namedPlaceholderFor(message) : placeholderFor(message);
    if (left === message) return message;
    this.found.push({ kind: "message", path, value: message });
    return left;
  }

  /** Something with a rule of its own, unless it says itself whom it is about. */
  #part(whose: Whose, rule: Rule, value: unknown, path: string, call?: string): unknown {
    const { keepsShared = false } = this.#rule;
    if (isAttributed(value) || !this.#isTheirs(whose, call)) return this.value(value, path);
    const judge = (each: Attributed): unknown => this.value(each, path);
    const isKept = keepsShared && this.#isShared(whose, call);
    const left = without(rule, value, isKept ? (each) => each : judge);
    if (left === value) return value;
    if (isKept) {
      this.kept++;
      return this.value(value, path);
    }
    this.found.push({ kind: "field", path, value: taken(value, left) });
    return left;
  }

  #isTheirs(whose: Whose, call: string | undefined): boolean {
    const { isThreadMatched = false, calls, concernsEveryone } = this.#rule;
    if (isThreadMatched || (call !== undefined && calls?.has(call) === true)) return true;
    return this.#isShared(whose, call) && concernsEveryone?.() === true;
  }

  #isShared(whose: Whose, call: string | undefined): boolean {
    if (whose !== "call") return whose === "all";
    const { calls, knowsCall } = this.#rule;
    return call === undefined || (calls?.has(call) !== true && knowsCall?.(call) !== true);
  }

  #threadSubject(subject: unknown): unknown {
    const { matches, keepsThreadSubject = false, keepsNames = false } = this.#rule;
    const subjects = subjectsIn(subject);
    const kept = subjects.filter((each) => !matches(each));
    if (keepsThreadSubject || keepsNames || kept.length === subjects.length) return subject;
    this.found.push({ kind: "field", path: "metadata.subject", value: subject });
    return kept;
  }
}

const namesPeople = (subject: unknown): boolean => typeof subject === "string" || Array.isArray(subject);

const callIn = ({ toolCallId }: Fields): string | undefined =>
  typeof toolCallId === "string" ? toolCallId : undefined;

/** The fields of an object that were removed or changed. */
function taken(value: unknown, left: unknown): unknown {
  if (!isPlainObject(value) || !isPlainObject(left)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name, each]) => !Object.is(left[name], each)));
}

/** The very same message where it is a placeholder already. */
function placeholderFor(message: Message): Message {
  const whole = message.metadata === undefined ? { ...message, metadata: {} } : message;
  const { rule } = STATE_RULES.messages;
  return without("each" in rule ? rule.each : emptied, whole, () => erasedValue) as Message;
}

/** The same with whom it was about. */
function namedPlaceholderFor(message: Message): Message {
  const { subject, ...others } = message.metadata ?? {};
  const bare = { ...message, metadata: others };
  const left = placeholderFor(bare);
  if (subject === undefined) return placeholderFor(message);
  return left === bare ? message : { ...left, metadata: { ...left.metadata, subject } };
}

/**
 * Whom a message is about; `undefined` if it names no person, and then the thread's own subjects count. An erased
 * message is about no person any more, and its own claim to be erased is not enough to make it one.
 */
export function peopleOf(message: Message): readonly string[] | undefined {
  if (message.metadata?.["erased"] === true && placeholderFor(message) === message) return [];
  return subjectsOfMessage(message);
}

/** The ids of the calls that a message asks for or answers. */
export function callsOf(message: Message): readonly string[] {
  if (message.role === "tool") return [message.toolCallId];
  return message.role === "assistant" ? (message.toolCalls ?? []).map(({ id }) => id) : [];
}
