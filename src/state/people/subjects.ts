import { StateError } from "../../errors.ts";
import { ListFact } from "../growing-list.ts";
import type { Message } from "../message.ts";
import { isPlainObject } from "../values/doorway.ts";

/**
 * Whom something is about. A message says so in `metadata.subject`, a thread in
 * `state.metadata.subject` (for everything in it that does not name its own), a
 * store item in its metadata, and any value through `attributed`. A subject is
 * the id of a person in your own program.
 */
export type Subjects = string | readonly string[];

/** The text that replaces erased data. */
export const ERASED = "[erased]";

const SUBJECT = "holdfast:subject";

/**
 * A value and the people it is about. An empty list means no person, whatever the thread says.
 */
export interface Attributed<Value = unknown> {
  readonly "holdfast:subject": Subjects;
  readonly value: Value;
}

/** Says whom a value in a state, a session or an item is about: `attributed("user-1", { address })`. */
export function attributed<Value>(subject: Subjects, value: Value): Attributed<Value> {
  assertSubjects(subject);
  return { [SUBJECT]: subject, value };
}

/**
 * Process state that is about no person. It stays when the owner of its session or thread is erased.
 */
export const ofNobody = <Value>(value: Value): Attributed<Value> => attributed([], value);

export const isAttributed = (value: unknown): value is Attributed =>
  isPlainObject(value) && Object.hasOwn(value, SUBJECT) && Object.hasOwn(value, "value");

export const erasedValue: Attributed<string> = Object.freeze({ [SUBJECT]: Object.freeze([]), value: ERASED });

/** The value of `subject` as a list. Anything other than text names no person. */
export function subjectsIn(given: unknown): readonly string[] {
  if (typeof given === "string") return [given];
  return Array.isArray(given) ? given.filter((each): each is string => typeof each === "string") : [];
}

export const subjectsOfValue = (value: Attributed): readonly string[] => subjectsIn(value[SUBJECT]);

/** Whom a message names; `undefined` if it names no person. */
export function subjectsOfMessage({ metadata }: Message): readonly string[] | undefined {
  const subject = metadata?.["subject"];
  return subject === undefined ? undefined : subjectsIn(subject);
}

const lastOfUser = new ListFact<Message, Message | undefined>(
  () => undefined,
  (last, message) => (message.role === "user" ? message : last),
);

/** Whom the newest turn is about, according to the user's message. Its answer is about the same people. */
export function subjectOfTurn(messages: readonly Message[]): { readonly subject: unknown } | undefined {
  const subject = lastOfUser.of(messages).fact?.metadata?.["subject"];
  return subject === undefined ? undefined : { subject };
}

export function assertSubjects(subject: unknown): asserts subject is Subjects {
  const all = Array.isArray(subject) ? subject : [subject];
  if (all.every((each) => typeof each === "string" && each !== "")) return;
  throw new StateError("INVALID_ARGUMENT", "a subject is the id of a person, or a list of such ids", {
    path: "subject",
  });
}

/** What programs call the person that something is about, where it is not called `subject`. */
const NAMES: ReadonlySet<string> = new Set(
  ["user", "customer", "person", "member", "patient", "employee", "student"].flatMap((role) => [
    role,
    `${role}id`,
    `${role}name`,
    `${role}email`,
    `${role}uuid`,
  ]),
);
const ALSO: ReadonlySet<string> = new Set([
  "uid",
  "userkey",
  "usersub",
  "email",
  "accountid",
  "enduserid",
  "endusername",
]);

/**
 * The member of some metadata that seems to say who it is about, where `subject` does not: an erasure looks for
 * `subject` and for nothing else.
 */
export function unnamedPerson(metadata: Readonly<Record<string, unknown>>): string | undefined {
  if (subjectsIn(metadata["subject"]).length > 0) return undefined;
  return Object.keys(metadata).find((name) => {
    const plain = name.toLowerCase().replaceAll(/[^a-z]/g, "");
    const value = metadata[name];
    const isId = typeof value === "string" || typeof value === "number" || isPlainObject(value);
    return isId && (NAMES.has(plain) || ALSO.has(plain));
  });
}

/**
 * Once for each name in a process: a program that makes the mistake makes it in every
 * run.
 */
const warned = new Set<string>();

/**
 * Emits the warning, by the member's name, and returns its text for callers that report it in their own way
 * too.
 */
export function warnOfUnnamedPerson(where: string, metadata: Readonly<Record<string, unknown>>): string | undefined {
  const name = unnamedPerson(metadata);
  if (name === undefined) return undefined;
  const told = `${where}: metadata.${name} does not say who this is about: eraseUser() will not find it, and memory keeps it to this thread. Name the person with subject`;
  if (!warned.has(name)) {
    warned.add(name);
    process.emitWarning(`holdfast: ${told}`);
  }
  return told;
}
