import { StateError } from "../../errors.ts";
import type { ItemId, Namespace, Scope } from "../driver/store-driver.ts";
import type { ItemTable } from "./item-table.ts";

/** How many names a request asks for at most. */
const NAMES_AT_ONCE = 1000;
/** How many objects are read in one step. */
const STEP = 32;
/** Names that say no order have to be read together to be sorted. */
const MOST_ALIKE = 10_000;

/** Names of a scope's objects, and perhaps of others. Whatever is in a later chunk sorts behind what is in an earlier one. */
export async function* itemNames(
  { bucket, layout }: ItemTable,
  { namespace, recursive }: Omit<Scope, "condition">,
  { after, atOnce }: { readonly after?: ItemId | undefined; readonly atOnce: number },
): AsyncGenerator<readonly string[], void, undefined> {
  const prefix = layout.beginning(namespace, recursive);
  const from = after === undefined ? {} : { startAfter: layout.before(after) };
  const chunks = new Chunks(Math.min(STEP, atOnce), (name) => layout.sharedHead(name));
  for await (const page of bucket.list({ prefix, pageSize: Math.min(NAMES_AT_ONCE, atOnce + 1), ...from })) {
    for (const name of page) if (layout.isItem(name)) yield* chunks.add(name);
  }
  yield* chunks.end();
}

/** The first name of each folder at or below a namespace, in chunks of the same kind. */
export async function* folderNames(
  { bucket, layout }: ItemTable,
  prefix: Namespace,
  after: Namespace | undefined,
): AsyncGenerator<readonly string[], void, undefined> {
  const chunks = new Chunks(STEP, (name) => layout.sharedFolder(name));
  const beginning = layout.beginning(prefix, true);
  let folder: string | undefined;
  for (let from = after === undefined ? undefined : layout.behind(after); ; ) {
    let isWithinFolder = false;
    const range = { prefix: beginning, pageSize: NAMES_AT_ONCE, ...(from !== undefined && { startAfter: from }) };
    for await (const page of bucket.list(range)) {
      const before = folder;
      for (const name of page) {
        if (!layout.isItem(name) || layout.folderOf(name) === folder) continue;
        folder = layout.folderOf(name);
        yield* chunks.add(name);
      }
      // One with very many items is not walked through.
      isWithinFolder = page.length > 1 && folder !== undefined && folder === before;
      if (isWithinFolder) break;
    }
    if (!isWithinFolder || folder === undefined) break;
    from = layout.behindFolder(folder);
  }
  yield* chunks.end();
}

/** Names in steps; those that share a part by which they cannot be sorted are in one. */
class Chunks {
  readonly #step: number;
  readonly #shared: (name: string) => string | undefined;
  #chunk: string[] = [];
  #last: string | undefined;

  constructor(step: number, shared: (name: string) => string | undefined) {
    this.#step = step;
    this.#shared = shared;
  }

  *add(name: string): Generator<readonly string[], void, undefined> {
    const shared = this.#shared(name);
    const isAlike = shared !== undefined && shared === this.#last;
    if (!isAlike && this.#chunk.length >= this.#step) yield* this.end();
    this.#last = shared;
    if (this.#chunk.push(name) > MOST_ALIKE) {
      throw new StateError(
        "TOO_LARGE",
        `more than ${MOST_ALIKE} items have names that begin with the same 150 characters, and this storage cannot list so many of them in order. Use shorter namespaces and keys`,
      );
    }
  }

  *end(): Generator<readonly string[], void, undefined> {
    if (this.#chunk.length > 0) yield this.#chunk;
    this.#chunk = [];
  }
}
