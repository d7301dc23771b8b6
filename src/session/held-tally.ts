import type { HoldNote } from "../state/people/legal-hold.ts";
import type { HeldBack } from "./receipts.ts";

/** Counts what holds keep in one backend. */
export class HeldTally {
  readonly #backend: string;
  readonly #counts = new Map<string, HeldBack>();

  constructor(backend: string) {
    this.#backend = backend;
  }

  clear(): void {
    this.#counts.clear();
  }

  add(hold: HoldNote, count: number): void {
    const { id, reason, placedBy, placedAt } = hold;
    const before = this.#counts.get(id)?.count ?? 0;
    this.#counts.set(id, { id, reason, placedBy, placedAt, backend: this.#backend, count: before + count });
  }

  get list(): readonly HeldBack[] {
    return [...this.#counts.values()];
  }
}
