import { encodeId } from "../../../src/store/driver/namespaces.ts";
import type { Change, ChangeResult, PutChange, WriteOutcome } from "../../../src/store/driver/store-driver.ts";
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
    fault: "counts the writes of an item, and compares the numbers",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        override async write(changes: readonly Change[]): Promise<WriteOutcome> {
          const before = await super.read(changes);
          const counted = changes.map((change, at) => {
            const next = String(Number(before[at]?.version ?? 0) + 1);
            return change.kind === "put" ? { ...change, version: next } : change;
          });
          return super.write(counted);
        }
      })(inner),
    caughtBy: [
      "a version of an item that was deleted never comes again",
      "in a storage that went back in time, the version of a lost write is no other writer's",
      "an update during which the storage goes back in time is made of what another writer left there",
    ],
  },
  {
    fault: "never gives a number twice while it lives, and compares the numbers",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        override async write(changes: readonly Change[]): Promise<WriteOutcome> {
          const all = await super.scan({ namespace: [], recursive: true, condition: undefined }, { limit: 1000 });
          const next = String(Math.max(0, ...all.map(({ version }) => Number(version))) + 1);
          return super.write(changes.map((change) => (change.kind === "put" ? { ...change, version: next } : change)));
        }
      })(inner),
    caughtBy: ["an update during which the storage goes back in time is made of what another writer left there"],
  },
  {
    fault: "takes any write with a known key for a repeated one",
    driver: writing((change) => ({ ...change, digest: "same" })),
    caughtBy: ["a write under the id of another write is refused, whatever it expects, and changes nothing"],
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
          const others = changes.filter(({ kind, expected }) => kind === "put" || expected !== null);
          return super.write(others.length === 0 ? changes : others);
        }
      })(inner),
    caughtBy: [
      "an item that was looked at before a hold was placed is not rewritten, and one that was looked at after it is",
    ],
  },
];
