import { encodeNamespace } from "../../../src/store/driver/namespaces.ts";
import type {
  Condition,
  ItemId,
  Namespace,
  RankedItem,
  Scope,
  StoredItem,
} from "../../../src/store/driver/store-driver.ts";
import { ReferenceDriver, type StoreFault } from "./reference-driver.ts";

type Range = { readonly after?: ItemId; readonly limit: number };

/** Looks at another scope than it was given. */
const scoping =
  (changed: (scope: Scope) => Scope): StoreFault["driver"] =>
  (inner) =>
    new (class extends ReferenceDriver {
      override scan(scope: Scope, options: Range): Promise<readonly StoredItem[]> {
        return super.scan(changed(scope), options);
      }
      override searchText(scope: Scope, words: readonly string[], limit: number): Promise<readonly RankedItem[]> {
        return super.searchText(changed(scope), words, limit);
      }
      override searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
        return super.searchVector(changed(scope), vector, limit);
      }
    })(inner);

/** The condition with every comparison replaced. */
function deeply(condition: Condition, leaf: (condition: Condition) => Condition): Condition {
  if (condition.op === "and" || condition.op === "or") {
    return { op: condition.op, of: condition.of.map((each) => deeply(each, leaf)) };
  }
  return condition.op === "not" ? { op: "not", of: deeply(condition.of, leaf) } : leaf(condition);
}

const filtering = (leaf: (condition: Condition) => Condition): StoreFault["driver"] =>
  scoping((scope) => ({ ...scope, condition: scope.condition && deeply(scope.condition, leaf) }));

/** Answers a question that was asked before as it did then. */
const remembering: StoreFault["driver"] = (inner) =>
  new (class extends ReferenceDriver {
    readonly #known = new Map<string, Promise<readonly RankedItem[]>>();
    override searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
      const name = JSON.stringify([scope, [...vector], limit]);
      const known = this.#known.get(name) ?? super.searchVector(scope, vector, limit);
      this.#known.set(name, known);
      return known;
    }
  })(inner);

export const findingFaults: readonly StoreFault[] = [
  {
    fault: "remembers the vectors of an earlier search",
    driver: remembering,
    caughtBy: ["a search by vector that is asked again sees what another instance put, changed and removed since"],
  },
  {
    fault: "ignores filters",
    driver: scoping((scope) => ({ ...scope, condition: undefined })),
    caughtBy: [
      "every filter keeps the items it says, by value and by type",
      "a filtered search gives as many rows as there are, and the nearest of them",
      "a search stays in its namespace and within its filter",
    ],
  },
  {
    fault: "takes numbers and texts for the same",
    driver: filtering((condition) =>
      condition.op === "in"
        ? { ...condition, operands: condition.operands.flatMap((each) => [each, String(each), Number(each)]) }
        : condition,
    ),
    caughtBy: ["values that look alike are told apart, in the value and in the metadata"],
  },
  {
    fault: "reads a dot in a field's name as a step",
    driver: filtering((condition) =>
      "path" in condition
        ? { ...condition, path: { ...condition.path, names: condition.path.names.flatMap((name) => name.split(".")) } }
        : condition,
    ),
    caughtBy: ["fields with hostile names are found by them, and by nothing else"],
  },
  {
    fault: "always looks below a namespace, too",
    driver: scoping((scope) => ({ ...scope, recursive: true })),
    caughtBy: ["namespaces that look alike are different ones, and match by whole segments"],
  },
  {
    fault: "matches namespaces by the beginning of their text",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        override async scan(scope: Scope, { after, limit }: Range): Promise<readonly StoredItem[]> {
          if (!scope.recursive) return super.scan(scope, { limit, ...(after !== undefined && { after }) });
          const everything = { ...scope, namespace: [] };
          const all = await super.scan(everything, { limit: 10_000, ...(after !== undefined && { after }) });
          const prefix = scope.namespace.join(":");
          return all.filter(({ namespace }) => namespace.join(":").startsWith(prefix)).slice(0, limit);
        }
      })(inner),
    caughtBy: ["namespaces that look alike are different ones, and match by whole segments"],
  },
  {
    fault: "filters a page after it was cut",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        override async scan(scope: Scope, options: Range): Promise<readonly StoredItem[]> {
          const cut = await super.scan({ ...scope, condition: undefined }, options);
          const kept = await super.scan(scope, { limit: 10_000 });
          return cut.filter(({ key }) => kept.some((item) => item.key === key));
        }
      })(inner),
    caughtBy: ["a filtered list has full pages, also where few items are left"],
  },
  {
    fault: "counts pages by how many came before",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        readonly #seen = new Map<string, number>();
        override async scan(scope: Scope, { after, limit }: Range): Promise<readonly StoredItem[]> {
          const walk = encodeNamespace(scope.namespace);
          const from = after === undefined ? 0 : (this.#seen.get(walk) ?? 0);
          const some = (await super.scan(scope, { limit: 10_000 })).slice(from, from + limit);
          this.#seen.set(walk, from + Math.min(some.length, limit - 1));
          return some;
        }
      })(inner),
    caughtBy: ["items that come and go while a list is walked do not move the others"],
  },
  {
    fault: "lists namespaces that hold nothing any more",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        readonly #known = new Map<string, Namespace>();
        override async namespaces(
          prefix: Namespace,
          options: { readonly after?: Namespace; readonly limit: number },
        ): Promise<readonly Namespace[]> {
          const now = await super.namespaces(prefix, options);
          if (options.after !== undefined || prefix.length > 0) return now;
          for (const namespace of now) this.#known.set(encodeNamespace(namespace), namespace);
          return [...this.#known].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, namespace]) => namespace);
        }
      })(inner),
    caughtBy: ["namespaces are listed while they hold an item, by prefix, suffix and depth"],
  },
  {
    fault: "clears one page",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        #cleared = 0;
        override async clear(...given: Parameters<ReferenceDriver["clear"]>): Promise<number> {
          return this.#cleared++ > 0 ? 0 : super.clear(...given);
        }
      })(inner),
    caughtBy: ["clearing goes to the end, however much there is"],
  },
  {
    fault: "finds only items with all of the words",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        override async searchText(
          scope: Scope,
          words: readonly string[],
          limit: number,
        ): Promise<readonly RankedItem[]> {
          const all = await super.searchText(scope, words, 10_000);
          const each = await Promise.all(words.map((word) => super.searchText(scope, [word], 10_000)));
          return all
            .filter(({ item }) => each.every((hits) => hits.some((hit) => hit.item.key === item.key)))
            .slice(0, limit);
        }
      })(inner),
    caughtBy: ["any of the words finds an item, more and rarer words put it ahead"],
  },
  {
    fault: "looks for the nearest first and filters then",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        override async searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
          const near = await super.searchVector({ ...scope, condition: undefined }, vector, 2 * limit);
          const kept = await super.searchVector(scope, vector, 10_000);
          return near.filter(({ item }) => kept.some((hit) => hit.item.key === item.key)).slice(0, limit);
        }
      })(inner),
    caughtBy: ["a filtered search gives as many rows as there are, and the nearest of them"],
  },
  {
    fault: "ranks vectors by their length, too",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        override async searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
          const hits = await super.searchVector(scope, vector, limit);
          return hits.map(({ item, score }) => ({ item, score: score * 2 }));
        }
      })(inner),
    caughtBy: ["the nearest vectors are found, with their cosines, best first"],
  },
  {
    fault: "takes every failure for nothing",
    driver: (inner) =>
      new (class extends ReferenceDriver {
        override read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
          return super.read(ids).catch(() => ids.map(() => undefined));
        }
        override scan(scope: Scope, options: Range): Promise<readonly StoredItem[]> {
          return super.scan(scope, options).catch(() => []);
        }
      })(inner),
    caughtBy: ["while the storage fails every call fails, and none answers that nothing is there"],
  },
];
