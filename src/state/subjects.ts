import { StateError } from "../errors.ts";
import { isPlainObject } from "./immutable.ts";
import type { Message } from "./message.ts";

/**
 * Who something is about. A message says so in `metadata.subject`, a thread in
 * `state.metadata.subject` (for all that says nothing itself), an item of a store
 * in its metadata, and any value by `attributed`. A subject is the id of a person
 * as your own program has it.
 */
export type Subjects = string | readonly string[];

/** What stands where something was erased. */
export const ERASED = "[erased]";

const SUBJECT = "holdfast:subject";

/** A value with the people it is about. An empty list: it is about nobody, whatever the thread says. */
export interface Attributed<Value = unknown> {
  readonly "holdfast:subject": Subjects;
  readonly value: Value;
}

/** Says who a value in a state, in a session or in an item is about: `attributed("user-1", { address })`. */
export function attributed<Value>(subject: Subjects, value: Value): Attributed<Value> {
  assertSubjects(subject);
  return { [SUBJECT]: subject, value };
}

/** Process state that is about nobody: it stays when the owner of its session or thread is erased. */
export const ofNobody = <Value>(value: Value): Attributed<Value> => attributed([], value);

export const isAttributed = (value: unknown): value is Attributed =>
  isPlainObject(value) && Object.hasOwn(value, SUBJECT) && Object.hasOwn(value, "value");

export const erasedValue: Attributed<string> = Object.freeze({ [SUBJECT]: Object.freeze([]), value: ERASED });

/** What is written under `subject`, as a list. Anything else than texts names nobody. */
export function subjectsIn(given: unknown): readonly string[] {
  if (typeof given === "string") return [given];
  return Array.isArray(given) ? given.filter((each): each is string => typeof each === "string") : [];
}

export const subjectsOfValue = (value: Attributed): readonly string[] => subjectsIn(value[SUBJECT]);

/** `undefined` where the message says nothing: then the thread's own subjects count. */
export function subjectsOfMessage({ metadata }: Message): readonly string[] | undefined {
  if (metadata?.["erased"] === true) return [];
  const subject = metadata?.["subject"];
  return subject === undefined ? undefined : subjectsIn(subject);
}

/** Who the newest turn is about, as the user's message says: what is answered to it is about the same people. */
export function subjectOfTurn(messages: readonly Message[]): { readonly subject: unknown } | undefined {
  let index = messages.length - 1;
  while (index >= 0 && messages[index]?.role !== "user") index--;
  const subject = messages[index]?.metadata?.["subject"];
  return subject === undefined ? undefined : { subject };
}

export function assertSubjects(subject: unknown): asserts subject is Subjects {
  const all = Array.isArray(subject) ? subject : [subject];
  if (all.every((each) => typeof each === "string" && each !== "")) return;
  throw new StateError("INVALID_ARGUMENT", "a subject is the id of a person, or a list of such ids", {
    path: "subject",
  });
}
