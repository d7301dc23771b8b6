import { createHash } from "node:crypto";
import type { ThreadWarning } from "../driver/warnings.ts";
import { reasonOf, StateError } from "../errors.ts";
import type { PersonalPlace } from "./erasure-party.ts";
import type { ErasedPlace, HeldBack, Unreached } from "./receipts.ts";

/** Counts what is found in one backend. */
export class Tally {
  readonly #backend: string;
  readonly #counts = { message: 0, field: 0, item: 0, "user data": 0, key: 0 };
  records = 0;

  constructor(backend: string) {
    this.#backend = backend;
  }

  add(places: readonly PersonalPlace[]): void {
    for (const { kind } of places) this.#counts[kind]++;
  }

  get place(): ErasedPlace {
    const { message, field, item, "user data": user, key } = this.#counts;
    const counts = { records: this.records, messages: message, fields: field, items: item + user, keys: key };
    return { backend: this.#backend, ...counts, cleaned: [], remains: [] };
  }
}

/** Without the ids of threads: they may hold a name, and a receipt must not. */
export const unreachedIn = (warnings: readonly ThreadWarning[]): readonly Unreached[] =>
  warnings.map(({ threadId, code }) => ({
    where: `thread ${createHash("sha256")
      .update(threadId ?? "")
      .digest("base64url")
      .slice(0, 12)}`,
    why: code,
  }));

export function unreachable(name: string, warnings: readonly ThreadWarning[]): StateError {
  const [first] = warnings;
  return new StateError(
    first?.code ?? "CORRUPT",
    `${name}: ${warnings.length} threads could not be looked at (${first?.message}). Repair or delete them and call resume(); or resume({ acceptUnreached: true }), and the receipt names them by their hashes`,
  );
}

/** Writers in ever new places were faster than every look. */
export const stillWritten = (name: string, looks: number): StateError =>
  new StateError(
    "CONFLICT",
    `${name}: something about the person was found ${looks} times in a row: it is written anew all the time, each time elsewhere. Stop that and call resume(); what was erased so far stays erased`,
  );

export function unfinished(failures: readonly { readonly name: string; readonly error: unknown }[]): StateError {
  const [first] = failures;
  const told = failures.map(({ name, error }) => `${name}: ${reasonOf(error)}`).join("; ");
  const code = StateError.is(first?.error) ? first.error.code : "UNKNOWN";
  return new StateError(
    code,
    `the erasure is not finished, and there is no receipt yet. Call resume() to go on. ${told}`,
    {
      cause: first?.error,
    },
  );
}

/** An erasure that was begun and met holds on its way. */
export function heldBack(held: readonly HeldBack[]): StateError {
  const told = held.map(
    ({ backend, count, id, placedBy, placedAt, reason }) =>
      `${backend}: ${count} under hold ${id}, placed by ${placedBy} at ${placedAt}: ${reason}`,
  );
  return new StateError(
    "HELD",
    `the erasure is not finished, and there is no receipt yet: legal holds keep a part of it. Lift them with liftHold(id, { by, reason }) and call resume(); or resume({ acceptHeld: true }), and the receipt names them. ${told.join("; ")}`,
    { holds: held.map(({ id, placedBy, placedAt, reason }) => ({ id, placedBy, placedAt, reason })) },
  );
}

const COUNTS = ["records", "messages", "fields", "items", "keys"] as const;

export const hasErased = (place: ErasedPlace): boolean => COUNTS.some((count) => place[count] > 0);

/** The places with what earlier attempts erased in them, which the last one did not find any more. */
export const withEarlier = (places: readonly ErasedPlace[], earlier: readonly ErasedPlace[]): readonly ErasedPlace[] =>
  places.map((place) => {
    const before = earlier.filter(({ backend }) => backend === place.backend);
    const sums = COUNTS.map((count) => [count, before.reduce((sum, each) => sum + each[count], place[count])]);
    return { ...place, ...Object.fromEntries(sums) };
  });
