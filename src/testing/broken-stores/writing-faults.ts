import { encodeId } from "../../store/namespaces.ts";
import type { Change, ChangeResult, ItemId, PutChange, StoredItem, WriteOutcome } from "../../store/store-driver.ts";
import { ReferenceDriver, type StoreFault } from "./reference-driver.ts";

type Changed = (change: Change) => Change;

/** Writes something else than what it was given. */
const writing =
  (changed: Changed): StoreFault["driver"] =>
  (inner) =>
    new (class extends ReferenceDriver {
      override write(changes: readonly Change[]): Promise<WriteOutcome> {
        return super.write(changes.map(changed));
      }
    })(inner);

const putting = (changed: (change: PutChange) => PutChange): StoreFault["driver"] =>
  writing((change) => (change.kind === "put" ? changed(change) : change));

let fresh = 0;

export const writingFaults: readonly StoreFault[] = [
  {
    fault: "ignores the expected version",
    driver: writing((change) => ({ ...change, expected: undefined })),
    caughtBy: [
      "a put or delete that expects another version is refused, and changes nothing",
      "of writers that expect the same version one wins, and the others are told",
      "updates by many at once are all there, each once",
      "a batch in which one put is refused writes nothing",
    ],
  },
  {
    fault: "forgets which writes it made",
    driver: writing((change) => ({ ...change, writeKey: `${change.writeKey} ${++fresh}` })),
    caughtBy: [
      "a write that is repeated under its id is made once, whatever came between",
      "a delete that is repeated under its id takes nothing new away",
      "an update that is repeated under its id counts once",
      "a batch that is repeated under its ids is made once",
    ],
  },
  {
    fault: "recognises only the last write of an item",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        readonly #last = new Map<string, string>();
        override write(changes: readonly Change[]): Promise<WriteOutcome> {
          const marked = changes.map((change) => {
            const isLast = this.#last.get(encodeId(change)) === change.writeKey;
            this.#last.set(encodeId(change), change.writeKey);
            return isLast ? change : { ...change, writeKey: `${change.writeKey} ${++fresh}` };
          });
          return super.write(marked);
        }
      })(inner),
    caughtBy: ["a write that is repeated under its id is made once, whatever came between"],
  },
  {
    fault: "begins the versions of a new item at 1 again",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        readonly #floors = new Map<string, number>();
        override async write(changes: readonly Change[]): Promise<WriteOutcome> {
          const before = await super.read(changes);
          const shifted = changes.map((change, at) => {
            if (before[at] === undefined) this.#floors.delete(encodeId(change));
            return change.expected ? { ...change, expected: change.expected + this.#floor(change) } : change;
          });
          const outcome = await super.write(shifted);
          if (!outcome.applied) return outcome;
          return { applied: true, results: outcome.results.map((result, at) => this.#shown(changes[at], result)) };
        }
        #floor(id: ItemId): number {
          return this.#floors.get(encodeId(id)) ?? 0;
        }
        #shown(change: Change | undefined, result: ChangeResult): ChangeResult {
          if (change?.kind !== "put") return result;
          if (!this.#floors.has(encodeId(change))) this.#floors.set(encodeId(change), result.version - 1);
          return { ...result, version: result.version - this.#floor(change) };
        }
        override async read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
          const items = await super.read(ids);
          return items.map((item) => item && { ...item, version: item.version - this.#floor(item) });
        }
      })(inner),
    caughtBy: ["a version of an item that was deleted never comes again"],
  },
  {
    fault: "writes a batch piece by piece",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        override async write(changes: readonly Change[]): Promise<WriteOutcome> {
          const results: ChangeResult[] = [];
          for (const change of changes) {
            const outcome = await super.write([change]);
            if (!outcome.applied) return outcome;
            results.push(...outcome.results);
          }
          return { applied: true, results };
        }
      })(inner),
    caughtBy: ["a batch in which one put is refused writes nothing"],
  },
  {
    fault: "keeps the metadata of the item before",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        override async write(changes: readonly Change[]): Promise<WriteOutcome> {
          const before = await super.read(changes);
          const kept = changes.map((change, at) =>
            change.kind === "put" ? { ...change, metadata: change.metadata ?? before[at]?.metadata } : change,
          );
          return super.write(kept);
        }
      })(inner),
    caughtBy: ["a put replaces the item whole: value, metadata and words"],
  },
  {
    fault: "sorts the members of a value",
    driver: putting((change) => {
      const tree: unknown = JSON.parse(change.value);
      if (typeof tree !== "object" || tree === null || Array.isArray(tree)) return change;
      return { ...change, value: JSON.stringify(Object.fromEntries(Object.entries(tree).sort())) };
    }),
    caughtBy: ["every value of the corpus comes back as it was, or is refused before anything is written"],
  },
  {
    fault: "takes an item's end for a decoration",
    driver: putting((change) => ({ ...change, ttlMs: change.ttlMs === "keep" ? "keep" : undefined })),
    caughtBy: ["an item past its end is in no answer of any kind"],
  },
  {
    fault: "loses the end of an item that is updated",
    driver: putting((change) => ({ ...change, ttlMs: change.ttlMs === "keep" ? undefined : change.ttlMs })),
    caughtBy: ["a put without an end takes the end away, an update leaves it"],
  },
  {
    fault: "does not index words",
    driver: putting((change) => ({ ...change, words: undefined })),
    caughtBy: ["any of the words finds an item, more and rarer words put it ahead"],
  },
  {
    fault: "weighs what stood beside a text like the text",
    driver: putting((change) => {
      if (change.words === undefined) return change;
      const { text, label, before, after } = change.words;
      const all = [text, before, after].filter((words) => words !== "").join(" ");
      return { ...change, words: { text: all, label, before: "", after: "" } };
    }),
    caughtBy: ["what stood beside a text counts for less than the text"],
  },
  {
    fault: "looks only at the items that a write changes",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        override write(changes: readonly Change[]): Promise<WriteOutcome> {
          const others = changes.filter(({ kind, expected }) => kind === "put" || expected !== 0);
          return super.write(others.length === 0 ? changes : others);
        }
      })(inner),
    caughtBy: [
      "an item that was looked at before a hold was placed is not rewritten, and one that was looked at after it is",
    ],
  },
];
