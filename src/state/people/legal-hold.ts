import { StateError } from "../../errors.ts";
import { attributed, isAttributed } from "./subjects.ts";

/**
 * A duty to keep data: what is about a person, or threads whose ids begin alike. While
 * a hold is in place, nothing of it is erased or deleted. It is never removed, only
 * lifted, so that the list tells what was held, when and why.
 */
export interface LegalHold {
  readonly id: string;
  /** The person, or what the ids of threads begin with: one of the two. */
  readonly subject?: string;
  readonly threadPrefix?: string;
  /** Without personal data: it stands in errors and receipts. */
  readonly reason: string;
  readonly placedBy: string;
  readonly placedAt: string;
  readonly lifted?: { readonly by: string; readonly reason: string; readonly at: string };
}

/** A hold as errors and receipts name it, without whom it is about. */
export interface HoldNote {
  readonly id: string;
  readonly reason: string;
  readonly placedBy: string;
  readonly placedAt: string;
}

export const noteOf = ({ id, reason, placedBy, placedAt }: LegalHold): HoldNote => ({ id, reason, placedBy, placedAt });

/** The name of the thread, and of the namespace, that holds lie in. */
export const HOLDS = "holdfast:holds";

/** The holds that count now. */
export class ActiveHolds {
  /** Tells whether holds were placed or lifted since. */
  readonly version: string;
  readonly #prefixes: readonly LegalHold[];
  readonly #people: ReadonlyMap<string, LegalHold>;

  constructor(all: readonly LegalHold[]) {
    const active = all.filter(({ lifted }) => lifted === undefined);
    this.version = active.map(({ id }) => id).join();
    this.#prefixes = active.filter(({ threadPrefix }) => threadPrefix !== undefined);
    this.#people = new Map(active.flatMap((hold) => (hold.subject === undefined ? [] : [[hold.subject, hold]])));
  }

  get isEmpty(): boolean {
    return this.#prefixes.length === 0 && !this.hasPeople;
  }

  get hasPeople(): boolean {
    return this.#people.size > 0;
  }

  onThread(threadId: string): LegalHold | undefined {
    return this.#prefixes.find(({ threadPrefix = "" }) => threadId.startsWith(threadPrefix));
  }

  onPerson(subject: string): LegalHold | undefined {
    return this.#people.get(subject);
  }

  /** Any of them: the list of holds itself is kept by each. */
  get first(): LegalHold | undefined {
    return this.#prefixes[0] ?? this.#people.values().next().value;
  }
}

/** `what` is what would have gone: `thread "t1"`. */
export function heldError(what: string, hold: LegalHold): StateError {
  const note = noteOf(hold);
  return new StateError(
    "HELD",
    `${what} is under legal hold ${note.id}, placed by ${note.placedBy} at ${note.placedAt}: ${note.reason}. Nothing of it was removed. ` +
      `To lift it: liftHold(${JSON.stringify(note.id)}, { by, reason }), or on the command line: hold lift <store> ${note.id}`,
    { holds: [note], written: "no" },
  );
}

/**
 * Over HTTP a token may delete and not read, and so cannot look for holds. The
 * service looks in its place, and refuses while there are any.
 */
export const isLeftToService = (error: unknown): boolean =>
  StateError.is(error, "PERMISSION_DENIED") && error.context.backend === "http";

/** How a hold lies in a storage: the person's id is attributed to the person, so that an erasure after the hold finds it. */
export const storedHold = ({ subject, ...hold }: LegalHold): Readonly<Record<string, unknown>> => ({
  ...hold,
  ...(subject !== undefined && { subject: attributed(subject, subject) }),
});

export function holdFrom(stored: unknown): LegalHold {
  const { subject, ...hold } = stored as LegalHold & { readonly subject?: unknown };
  if (subject === undefined) return hold;
  return { ...hold, subject: isAttributed(subject) ? String(subject.value) : String(subject) };
}

/** Of two readings of the same hold, the later: what was lifted stays lifted. */
export const laterOf = (one: LegalHold | undefined, other: LegalHold): LegalHold =>
  one === undefined || one.lifted === undefined ? other : one;
