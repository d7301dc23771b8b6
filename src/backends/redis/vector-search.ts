import { StateError } from "../../errors.ts";
import { inParallel } from "../../internal/concurrency.ts";
import type { RankedItem, Scope } from "../../store/driver/store-driver.ts";
import { matches } from "../../store/search/item-fields.ts";
import { TopHits } from "../../store/search/top-hits.ts";
import {
  type VectorHit,
  type VectorRow,
  type VectorScope,
  VectorShelf,
  VectorTable,
} from "../../store/search/vector-table.ts";
import { cosine, norm } from "../../store/search/vectors.ts";
import { asReply, asText } from "./replies.ts";
import { VECTOR_NAMES } from "./scripts/store-scripts.ts";
import { idOfVector, lexBounds, type Record, UNKNOWN_VERSION, versionOfVector } from "./store-layout.ts";
import { kept, parts, type RunStoreScript, readVectorItems, type VectorItem } from "./vector-rows.ts";

/** What it needs of the driver. */
export interface VectorSource {
  readonly run: RunStoreScript;
  /** Items that have not expired, in the order of the ids. */
  readonly records: (ids: readonly string[]) => Promise<readonly (Record | undefined)[]>;
  readonly exactUpTo: number;
}

/**
 * If a result changed before it was read, the search is repeated: at most this often, each time with that many more
 * candidates.
 */
const MOST_TRIES = 4;
const MORE_CANDIDATES = 8;

interface Question {
  readonly scope: Scope;
  readonly vector: Float32Array;
  readonly limit: number;
}

/** Which names a table was made of: those of vectors of other lengths are not in the table. */
interface Contents {
  /** What the server says of the same names; empty where they may differ from what was listed. */
  digest: string;
  readonly names: Set<string>;
}

/** The names of a scope's vectors, as of one moment. Without a list where the caller knows it. */
interface Listed {
  readonly now: number;
  readonly count: number;
  readonly digest: string;
  readonly names: readonly string[] | undefined;
}

/**
 * Vectors are compared one by one, in this process. Those of a scope that is
 * asked about again are kept here. Every put gives its vector a name that never
 * comes again, and every search first asks for the names of the scope: only what
 * is new is read, and nothing where the names are the same.
 */
export class RedisVectorSearch {
  readonly #source: VectorSource;
  readonly #shelf = new VectorShelf<string>();
  readonly #contents = new WeakMap<VectorTable<string>, Contents>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(source: VectorSource) {
    this.#source = source;
  }

  async search(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
    for (let tries = 1; ; tries++) {
      const hits = await this.#hits({ scope, vector, limit: limit + (tries - 1) * MORE_CANDIDATES });
      const records = await this.#source.records(hits.map(({ key }) => idOfVector(key)));
      const isSettled = hits.every(({ stamp }, at) => {
        const version = records[at]?.item.version;
        return version === stamp || version === UNKNOWN_VERSION;
      });
      if (!isSettled && tries < MOST_TRIES) continue;
      const found = hits.flatMap(({ score }, at) => {
        const record = records[at];
        const item = record && kept(scope, record);
        return item === undefined ? [] : [{ item, score }];
      });
      return found.slice(0, limit);
    }
  }

  #hits(question: Question): Promise<readonly VectorHit<string>[]> {
    const { scope, vector } = question;
    const { namespace, recursive, condition } = scope;
    const place: VectorScope = { namespace, recursive, dimension: vector.length };
    const isKnown = this.#shelf.get(place) !== undefined;
    // For a filter that is used once, only the vectors that it keeps are read.
    if (!isKnown && condition !== undefined && !this.#shelf.wasAsked(place)) return this.#compareOnce(question);
    return this.#inTurn(place, () => this.#fromTable(question, place));
  }

  /** One after the other for each table: what one lists and takes in, another one must not take for gone. */
  #inTurn<T>(place: VectorScope, work: () => Promise<T>): Promise<T> {
    const name = JSON.stringify(place);
    const mine = (this.#turns.get(name) ?? Promise.resolve()).then(work, work);
    this.#turns.set(name, mine);
    const end = (): void => {
      if (this.#turns.get(name) === mine) this.#turns.delete(name);
    };
    mine.then(end, end);
    return mine;
  }

  async #fromTable(question: Question, place: VectorScope): Promise<readonly VectorHit<string>[]> {
    const { scope, vector, limit } = question;
    const { condition } = scope;
    const table = this.#shelf.get(place) ?? new VectorTable<string>(place.dimension);
    const contents = this.#contents.get(table) ?? { digest: "", names: new Set<string>() };
    this.#contents.set(table, contents);
    const listed = await this.#list(scope, contents.digest);
    if (!this.#shelf.hasRoomFor(listed.count, place)) {
      this.#shelf.forget(place);
      return this.#compareOnce(question);
    }
    await this.#takeIn(table, contents, listed);
    if (condition !== undefined && !table.canFilter(condition)) {
      table.openColumns(condition);
      await this.#fillColumns(table, contents);
      table.closeColumns(condition);
    }
    this.#shelf.keep(place, table);
    return table.best({ vector, limit, condition, now: listed.now });
  }

  /** Makes the table hold what was listed, or what came in its place since. */
  async #takeIn(table: VectorTable<string>, contents: Contents, { digest, names }: Listed): Promise<void> {
    if (names === undefined) return;
    const listed = new Set(names);
    contents.digest = "";
    for (const name of contents.names) if (!listed.has(name)) drop(table, contents, name);
    const missing = names.filter((name) => !contents.names.has(name));
    table.reserve(missing.length);
    if (await this.#read(table, contents, missing)) contents.digest = digest;
  }

  /** False where some of them were replaced or removed meanwhile. */
  async #read(table: VectorTable<string>, contents: Contents, names: readonly string[]): Promise<boolean> {
    let isExact = true;
    const mode = table.hasColumns ? "both" : "vectors";
    await inParallel(parts(names), async (some) => {
      for (const [at, item] of (await this.#items(mode, some)).entries()) {
        isExact &&= item?.name === some[at];
        if (item?.row === undefined) continue;
        contents.names.add(item.name);
        if (item.row.vector.length === table.dimension) table.set(item.row, item.fields);
      }
    });
    return isExact;
  }

  async #fillColumns(table: VectorTable<string>, contents: Contents): Promise<void> {
    const replaced: string[] = [];
    await inParallel(parts([...table.keys()]), async (names) => {
      for (const [at, item] of (await this.#items("records", names)).entries()) {
        const name = names[at] ?? "";
        if (item?.name !== name) replaced.push(name);
        else table.fillColumns(name, versionOfVector(name), item.fields);
      }
    });
    if (replaced.length === 0) return;
    contents.digest = "";
    for (const name of replaced) drop(table, contents, name);
    await this.#read(table, contents, replaced);
  }

  /** Without a table: what the filter keeps is compared and forgotten. */
  async #compareOnce({ scope, vector, limit }: Question): Promise<readonly VectorHit<string>[]> {
    const { names = [], now } = await this.#list(scope, "");
    const [best, length] = [new TopHits<VectorRow<string>>(limit), norm(vector)];
    await inParallel(parts(names), async (some) => {
      for (const item of await this.#items("vectors", await this.#kept(scope, some))) {
        const row = item?.row;
        if (row === undefined || row.vector.length !== vector.length || (row.end ?? now + 1) <= now) continue;
        best.add(row, cosine(vector, row.vector, length * norm(row.vector)));
      }
    });
    return best.list().map(({ item: { key, stamp }, score }) => ({ key, stamp, score }));
  }

  /** Those that a filter keeps: the vectors of the others are not read. */
  async #kept({ condition }: Scope, names: readonly string[]): Promise<readonly string[]> {
    if (condition === undefined) return names;
    return (await this.#items("records", names)).flatMap((item) =>
      item !== undefined && (item.fields === undefined || matches(condition, item.fields)) ? [item.name] : [],
    );
  }

  async #items(
    mode: "vectors" | "records" | "both",
    names: readonly string[],
  ): Promise<readonly (VectorItem | undefined)[]> {
    return (await readVectorItems(this.#source.run, mode, names)).items;
  }

  async #list(scope: Scope, known: string): Promise<Listed> {
    const { run, exactUpTo } = this.#source;
    const args = [...lexBounds(scope), String(exactUpTo), known];
    const [now, total, digest, lines] = asReply(await run(VECTOR_NAMES, args)) ?? [];
    const count = Number(asText(total));
    if (count > exactUpTo) {
      throw new StateError(
        "TOO_LARGE",
        `${count} vectors would have to be compared, and Redis has no index for them: at most ${exactUpTo} are. Search a smaller namespace, or keep them in PostgreSQL with pgvector`,
      );
    }
    const names = lines == null ? undefined : asText(lines).split("\n").slice(0, count);
    return { now: Number(asText(now)), count, digest: asText(digest), names };
  }
}

function drop(table: VectorTable<string>, contents: Contents, name: string): void {
  table.delete(name);
  contents.names.delete(name);
}
