import { invalid } from "../driver/options.ts";
import { type Page, page } from "../driver/page.ts";
import { assertNamespace, encodeNamespace } from "./driver/namespaces.ts";
import type { Namespace } from "./driver/store-driver.ts";
import { openPosition, sealPosition } from "./items/cursors.ts";
import { anySegment, type ListNamespacesOptions, type NamespacePattern } from "./items/items.ts";
import type { StoreAccess } from "./items/store-access.ts";
import { checkedLimit } from "./items/store-options.ts";

const PER_CALL = 500;

/** Behind which namespace the next page begins, and what was shown last, encoded. */
type Place = readonly [after: Namespace, shown: string | null];

/** Walks the namespaces below the literal part of the prefix, and leaves out what the rest does not allow. */
export async function namespacesPage(access: StoreAccess, options: ListNamespacesOptions): Promise<Page<Namespace>> {
  const { prefix = [], suffix = [], maxDepth } = options;
  assertPattern("prefix", prefix);
  assertPattern("suffix", suffix);
  if (maxDepth !== undefined && !(Number.isInteger(maxDepth) && maxDepth >= 1)) {
    throw invalid(`maxDepth must be a whole number from 1 on, not ${String(maxDepth)}`);
  }
  const limit = checkedLimit(options.limit, 100);
  const walk = ["namespaces", written(prefix), written(suffix), maxDepth ?? null];
  // Where to go on is not always what was shown last: others may lie between that do not fit.
  const [begin, shownLast] = options.cursor === undefined ? [] : (openPosition(walk, options.cursor) as Place);
  let after = begin;
  const literal = literalPart(prefix);
  const found: Namespace[] = [];
  let last = shownLast ?? undefined;
  while (found.length <= limit) {
    const behind = after;
    const some = await access.call({ operation: "listNamespaces" }, (driver) =>
      driver.namespaces(literal, { limit: PER_CALL, ...(behind !== undefined && { after: behind }) }),
    );
    for (const namespace of some) {
      const shown = cut(namespace, maxDepth);
      const encoded = encodeNamespace(shown);
      // The walk is sorted, so those that are cut to the same come one behind the other.
      if (encoded === last || !begins(namespace, prefix) || !ends(namespace, suffix)) continue;
      if (found.length === limit) return page(found, sealPosition(walk, [after ?? [], last ?? null] satisfies Place));
      found.push(shown);
      last = encoded;
      after = namespace;
    }
    if (some.length < PER_CALL) return page(found, undefined);
    after = some.at(-1);
  }
  return page(found, undefined);
}

const cut = (namespace: Namespace, maxDepth: number | undefined): Namespace =>
  maxDepth === undefined ? namespace : namespace.slice(0, maxDepth);

const begins = (namespace: Namespace, pattern: NamespacePattern): boolean =>
  namespace.length >= pattern.length && pattern.every((each, index) => fits(each, namespace[index]));

const ends = (namespace: Namespace, pattern: NamespacePattern): boolean =>
  begins(namespace.slice(Math.max(0, namespace.length - pattern.length)), pattern);

const fits = (each: string | typeof anySegment, segment: string | undefined): boolean =>
  each === anySegment || each === segment;

function literalPart(pattern: NamespacePattern): Namespace {
  const end = pattern.indexOf(anySegment);
  return pattern.slice(0, end === -1 ? pattern.length : end) as Namespace;
}

/** A symbol has no JSON. */
const written = (pattern: NamespacePattern): unknown => pattern.map((each) => (each === anySegment ? 0 : each));

function assertPattern(name: string, pattern: NamespacePattern): void {
  if (!Array.isArray(pattern)) throw invalid(`${name} must be a list of segments`);
  assertNamespace(
    pattern.map((each) => (each === anySegment ? "any" : each)),
    { mayBeEmpty: true },
  );
}
