import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { contextOf } from "../checkpoint/context.ts";
import { everyHold, markHeldThreads, putHold } from "../checkpoint/people/holds.ts";
import { newId } from "../driver/ids.ts";
import { invalid, optionsOf } from "../driver/options.ts";
import { reasonOf, StateError } from "../errors.ts";
import { HOLDS, type LegalHold, laterOf } from "../state/people/legal-hold.ts";
import { assertSubjects } from "../state/people/subjects.ts";
import type { BaseStore } from "../store/base-store.ts";
import { everyHoldIn, putHoldIn } from "../store/holds.ts";
import type { ErasureParty } from "./erasure-party.ts";

/** Where one backend keeps its holds. */
export interface HoldBook {
  readonly name: string;
  read(): Promise<readonly LegalHold[]>;
  /** When it returns, the hold also counts for removals that were under way. */
  write(hold: LegalHold): Promise<void>;
}

export interface HoldRequest {
  /** The person whose data must stay. Either this or `threadPrefix`. */
  readonly subject?: string;
  /** What the ids of the threads that must stay begin with. */
  readonly threadPrefix?: string;
  /** Why, in words without personal data: they stand in errors and receipts. */
  readonly reason: string;
  /** Who places it. */
  readonly by: string;
}

export interface LiftRequest {
  readonly reason: string;
  readonly by: string;
}

/** A hold and the backends that it is missing in, where placing it was interrupted or a backup was restored. */
export interface ListedHold extends LegalHold {
  readonly missingIn: readonly string[];
}

export function threadBook(checkpointer: BaseCheckpointer, name: string): HoldBook {
  const context = contextOf(checkpointer);
  if (context === undefined) {
    throw new StateError("UNSUPPORTED", `${name} is not over a ThreadLog: holds cannot be kept in it`);
  }
  return {
    name,
    read: () => everyHold(context),
    async write(hold) {
      await putHold(context, hold);
      if (hold.lifted === undefined) await markHeldThreads(context, hold);
    },
  };
}

export const storeBook = (store: BaseStore, name: string): HoldBook => ({
  name,
  read: () => everyHoldIn(store),
  write: (hold) => putHoldIn(store, hold),
});

/** Those of threads and of stores. */
export const booksOf = (places: {
  readonly checkpointers: readonly BaseCheckpointer[];
  readonly stores: readonly BaseStore[];
}): readonly HoldBook[] => [
  ...places.checkpointers.map((each, index) => threadBook(each, `threads ${index + 1}`)),
  ...places.stores.map((each, index) => storeBook(each, `store ${index + 1}`)),
];

/**
 * In every book, or an error that says how to go on. A hold that is in some of them counts there already. `parties`
 * that keep no holds of their own learn of it when it is in all of them.
 */
export async function placeHold(
  books: readonly HoldBook[],
  given: HoldRequest,
  now: number,
  parties: readonly Pick<ErasureParty, "name" | "holdPlaced">[] = [],
): Promise<LegalHold> {
  const { subject, threadPrefix, reason, by } = checkedRequest(given);
  const hold: LegalHold = {
    id: newId(),
    ...(subject !== undefined && { subject }),
    ...(threadPrefix !== undefined && { threadPrefix }),
    reason,
    placedBy: by,
    placedAt: new Date(now).toISOString(),
  };
  await writeAll(books, hold, NOT_PLACED);
  if (subject === undefined) return hold;
  const told = parties.map(({ name, holdPlaced }) => ({ name, write: async () => holdPlaced?.(subject) }));
  await writeAll(told, hold, NOT_PLACED);
  return hold;
}

const NOT_PLACED = "was not placed everywhere: place it once more; two holds do no harm";

/** Says that the hold no longer counts. It stays in the list. */
export async function liftHold(
  books: readonly HoldBook[],
  id: string,
  given: LiftRequest,
  now: number,
): Promise<LegalHold> {
  const { reason, by } = optionsOf("liftHold", given, { reason: true, by: true });
  assertWords("liftHold", { reason, by });
  const hold = (await listHolds(books)).find((each) => each.id === id);
  if (hold === undefined)
    throw new StateError("NOT_FOUND", `there is no hold ${JSON.stringify(id)}; holds() lists them`);
  const { missingIn: _, ...known } = hold;
  assertNoName("liftHold", reason, known.subject);
  const lifted =
    known.lifted === undefined ? { ...known, lifted: { by, reason, at: new Date(now).toISOString() } } : known;
  await writeAll(books, lifted, "was not lifted everywhere: lift it once more");
  return lifted;
}

/** The union of all books: what one of them knows to be lifted is lifted. */
export async function listHolds(books: readonly HoldBook[]): Promise<readonly ListedHold[]> {
  const found = new Map<string, { hold: LegalHold; names: Set<string> }>();
  for (const { name, read } of books) {
    for (const each of await read()) {
      const known = found.get(each.id);
      found.set(each.id, { hold: laterOf(known?.hold, each), names: (known?.names ?? new Set()).add(name) });
    }
  }
  return [...found.values()].map(({ hold, names }) => ({
    ...hold,
    missingIn: books.filter(({ name }) => !names.has(name)).map(({ name }) => name),
  }));
}

/** Those that answer. What is in another backend finds its own holds when its turn comes, or fails then, loudly. */
export async function readableBooks(books: readonly HoldBook[]): Promise<readonly HoldBook[]> {
  const answered = await Promise.all(
    books.map((book) =>
      book.read().then(
        () => true,
        () => false,
      ),
    ),
  );
  return books.filter((_, index) => answered[index]);
}

/** Brings what one book knows into the others: a backend that was restored from a backup lacks newer holds, and that some were lifted. */
export async function agreeOnHolds(books: readonly HoldBook[]): Promise<readonly LegalHold[]> {
  const all = (await listHolds(books)).map(({ missingIn: _, ...hold }) => hold);
  for (const book of books) {
    const known = new Map((await book.read()).map((hold) => [hold.id, hold]));
    for (const hold of all) {
      const its = known.get(hold.id);
      if (its === undefined || (its.lifted === undefined) !== (hold.lifted === undefined)) await book.write(hold);
    }
  }
  return all;
}

async function writeAll(
  books: readonly Pick<HoldBook, "name" | "write">[],
  hold: LegalHold,
  otherwise: string,
): Promise<void> {
  const failures: { readonly name: string; readonly error: unknown }[] = [];
  for (const { name, write } of books) await write(hold).catch((error: unknown) => failures.push({ name, error }));
  const [first] = failures;
  if (first === undefined) return;
  const told = failures.map(({ name, error }) => `${name}: ${reasonOf(error)}`).join("; ");
  const code = StateError.is(first.error) ? first.error.code : "UNKNOWN";
  throw new StateError(code, `hold ${hold.id} ${otherwise}. ${told}`, { cause: first.error });
}

function checkedRequest(given: HoldRequest): HoldRequest {
  const names = { subject: true, threadPrefix: true, reason: true, by: true } as const;
  const request = optionsOf("placeHold", given, names);
  const { subject, threadPrefix, reason, by } = request;
  if ((subject === undefined) === (threadPrefix === undefined)) {
    throw invalid(
      'placeHold() takes a person, { subject }, or threads, { threadPrefix }: one of the two. "" is every thread',
    );
  }
  // Any person who can be named and erased can be held: the rule is that of subjects, no
  // narrower.
  if (subject !== undefined) assertSubjects([subject]);
  if (threadPrefix !== undefined && (typeof threadPrefix !== "string" || !threadPrefix.isWellFormed())) {
    throw invalid("placeHold(): threadPrefix is a text: what the ids of the threads begin with");
  }
  if (threadPrefix?.startsWith(HOLDS)) throw invalid("placeHold(): the list of holds needs no hold");
  assertWords("placeHold", { reason, by });
  assertNoName("placeHold", reason, subject);
  return request;
}

function assertWords(method: string, words: Readonly<Record<"reason" | "by", unknown>>): void {
  for (const [name, text] of Object.entries(words)) {
    if (typeof text === "string" && text.trim() !== "" && text.length <= 200 && text.isWellFormed()) continue;
    throw invalid(`${method}() needs ${name}: a text of 1 to 200 characters`);
  }
}

function assertNoName(method: string, reason: string, subject: string | undefined): void {
  if (subject === undefined || !reason.includes(subject)) return;
  throw invalid(`${method}(): reason must not name the person: it stands in errors and receipts`);
}
