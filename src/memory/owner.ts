import { invalid } from "../driver/options.ts";
import { assertSubjects, type Subjects, subjectsIn } from "../state/people/subjects.ts";
import { assertNamespace } from "../store/driver/namespaces.ts";
import type { Namespace } from "../store/driver/store-driver.ts";
import { digest } from "./identity.ts";

/**
 * Who something remembered belongs to: the person that a run is about, or, where
 * it names no one, the thread itself.
 */
export interface MemoryOwner {
  /** The id of the person in your own program, as in `agent.run(prompt, { subject })`. A list is shared by exactly these people. */
  readonly subject?: Subjects | undefined;
  /** Whose memories are meant where there is no subject: those of this thread alone. */
  readonly threadId?: string | undefined;
}

/** Where an owner's items lie. Each carries the metadata, so that an erasure finds it whatever the namespace is. */
export interface OwnedPlace {
  readonly namespace: Namespace;
  readonly metadata: { readonly subject?: Subjects };
}

/** The owner's own place below a prefix; `undefined` where neither a person nor a thread is named. */
export function ownedPlace(prefix: Namespace, { subject, threadId }: MemoryOwner): OwnedPlace | undefined {
  assertNamespace(prefix);
  if (subject !== undefined) assertSubjects(subject);
  const [first, ...others] = peopleIn(subject);
  if (first !== undefined && others.length === 0) {
    return { namespace: [...prefix, "users", first], metadata: { subject: first } };
  }
  if (first !== undefined) {
    const all = [first, ...others];
    return { namespace: [...prefix, "groups", digest(JSON.stringify(all))], metadata: { subject: all } };
  }
  if (threadId === undefined) return undefined;
  // A thread's id may be longer than a segment.
  return { namespace: [...prefix, "threads", digest(threadId)], metadata: {} };
}

/** The same for callers that need one. */
export function requiredPlace(where: string, prefix: Namespace, owner: MemoryOwner): OwnedPlace {
  const place = ownedPlace(prefix, owner);
  if (place !== undefined) return place;
  throw invalid(
    `${where} must be told whose memories are meant: { subject: "user-42" }, the person that a run is about, or { threadId } for those of one thread`,
  );
}

/** The same people in any order are one owner. */
export const peopleIn = (subject: unknown): readonly string[] => [...new Set(subjectsIn(subject))].toSorted();

export const areSamePeople = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((each, index) => each === b[index]);
