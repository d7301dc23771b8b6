import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { FileCheckpointer } from "../src/backends/file/index.ts";
import { MemoryCheckpointer } from "../src/backends/memory/index.ts";
import { mysqlCheckpointer } from "../src/backends/mysql/index.ts";
import { optionsOfUrl } from "../src/backends/opensearch/checkpointer.ts";
import { opensearchCheckpointer } from "../src/backends/opensearch/index.ts";
import { oracleCheckpointer } from "../src/backends/oracle/index.ts";
import { redisCheckpointer } from "../src/backends/redis/index.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import { AgentState, type Checkpointer, userMessage } from "../src/index.ts";
import { describeWithOracle } from "./oracle-stand-in/with-oracle.ts";
import { seededRandom } from "./processes/seeded-random.ts";
import { seed } from "./property-seed.ts";
import { mysqlPlace } from "./services/mysql-place.ts";
import { ownIndex } from "./services/opensearch-index.ts";
import { postgresPlace } from "./services/postgres-place.ts";
import { describeWithService } from "./services/with-service.ts";

const WORDS = ["apple", "bridge", "candle", "dragon", "ember", "forest", "garden", "harbor"];
const THREADS = ["a", "b", "c", "d"];
const OPERATIONS = 200;
const OPERATIONS_PER_LOOK = 10;

/** What a checkpoint says, message by message; the newest checkpoint of a thread is the last. */
interface Saved {
  readonly id: string;
  readonly texts: readonly string[];
}

const stateOf = (texts: readonly string[]): AgentState =>
  AgentState.create().withHistory(texts.map((text) => userMessage(text)));

/** Random operations of a storage, and beside it what they should have left. */
class SearchModel {
  readonly #checkpointer: Checkpointer;
  readonly #random = seededRandom(seed);
  readonly #threads = new Map<string, Saved[]>();
  #made = 0;

  constructor(checkpointer: Checkpointer) {
    this.#checkpointer = checkpointer;
  }

  /** One operation, in words. */
  async step(): Promise<string> {
    const thread = this.#anyOf(THREADS);
    const saved = this.#threads.get(thread);
    const kind = this.#random.below(20);
    if (saved === undefined || kind < 12) return this.#save(thread);
    if (kind < 15) return this.#deleteCheckpoint(thread, this.#anyOf(saved));
    if (kind === 15) return this.#vacuum(1 + this.#random.below(3));
    if (kind === 16) return this.#deleteThread(thread);
    return this.#copy(thread, this.#anyOf(saved), kind === 17);
  }

  /** Every hit holds the word that was asked for, and no thread that has it is left out. */
  async look(done: readonly string[]): Promise<void> {
    const said = done.join("; ");
    for (const word of WORDS) {
      const hits = await this.#checkpointer.search(word, { limit: 1000 });
      for (const { threadId, checkpointId } of hits) {
        const saved = this.#threads.get(threadId)?.find(({ id }) => id === checkpointId);
        expect(saved?.texts.join(" "), `${word} in ${threadId} ${checkpointId} after ${said}`).toContain(word);
        const state = await this.#checkpointer.load(threadId, { checkpointId });
        expect(state?.messages.map(({ content }) => content).join(" ")).toContain(word);
      }
      const holding = [...this.#threads].filter(([, saved]) =>
        saved.some(({ texts }) => texts.join(" ").includes(word)),
      );
      expect([...new Set(hits.map(({ threadId }) => threadId))].sort(), `threads with ${word} after ${said}`).toEqual(
        holding.map(([thread]) => thread).sort(),
      );
    }
  }

  async #save(thread: string): Promise<string> {
    const saved = this.#threads.get(thread) ?? [];
    const before = (await this.#checkpointer.load(thread)) ?? AgentState.create();
    const text = `${this.#anyOf(WORDS)} ${this.#anyOf(WORDS)} ${++this.#made}`;
    const texts = [...(saved.at(-1)?.texts ?? [])];
    const kind = this.#random.below(10);
    const at = this.#random.below(texts.length + 1);
    if (kind < 6) texts.push(text);
    else if (kind < 8) texts.splice(at, 1, text);
    else texts.splice(at, 1 + this.#random.below(3));
    const isNext = kind < 6;
    const state = isNext ? before.withMessage(userMessage(text)) : before.withHistory(stateOf(texts).messages);
    const named = this.#random.below(2) === 0 ? { checkpointId: `own-${this.#made}` } : {};
    const id = await this.#checkpointer.save(state, thread, named);
    this.#threads.set(thread, [...saved, { id, texts }]);
    return `save ${thread} ${id}: ${texts.join(" | ")}`;
  }

  async #deleteCheckpoint(thread: string, { id }: Saved): Promise<string> {
    await this.#checkpointer.delete(thread, { checkpointId: id });
    this.#keep(thread, (saved) => saved.id !== id);
    return `delete ${thread} ${id}`;
  }

  async #deleteThread(thread: string): Promise<string> {
    await this.#checkpointer.delete(thread);
    this.#threads.delete(thread);
    return `delete ${thread}`;
  }

  async #vacuum(keepLast: number): Promise<string> {
    await this.#checkpointer.vacuum({ keepLast });
    for (const [thread, saved] of this.#threads) this.#threads.set(thread, saved.slice(-keepLast));
    return `vacuum to ${keepLast}`;
  }

  async #copy(source: string, { id }: Saved, isWhole: boolean): Promise<string> {
    const target = THREADS.find((thread) => !this.#threads.has(thread));
    if (target === undefined) return "nothing";
    const saved = this.#threads.get(source) ?? [];
    if (isWhole) {
      await this.#checkpointer.copyThread(source, target);
      this.#threads.set(target, saved);
      return `copy ${source} to ${target}`;
    }
    const made = await this.#checkpointer.fork(source, target, { at: id });
    this.#threads.set(target, [{ id: made, texts: saved.find((one) => one.id === id)?.texts ?? [] }]);
    return `fork ${source} at ${id} to ${target}`;
  }

  #keep(thread: string, isKept: (saved: Saved) => boolean): void {
    const left = (this.#threads.get(thread) ?? []).filter(isKept);
    if (left.length === 0) this.#threads.delete(thread);
    else this.#threads.set(thread, left);
  }

  #anyOf<T>(list: readonly T[]): T {
    return list[this.#random.below(list.length)] as T;
  }
}

/** Fails with the operations that led there. */
async function searchAsModelled(checkpointer: Checkpointer): Promise<void> {
  console.log(`search model: HOLDFAST_SEED=${seed}`);
  const model = new SearchModel(checkpointer);
  const done: string[] = [];
  for (let operation = 1; operation <= OPERATIONS; operation++) {
    done.push(await model.step());
    if (operation % OPERATIONS_PER_LOOK === 0) await model.look(done.slice(-3 * OPERATIONS_PER_LOOK));
  }
}

const TITLE =
  "whatever was saved, deleted, vacuumed, forked and copied, every hit holds the word and no thread is left out";

describe("a search", () => {
  test(`memory: ${TITLE}`, () => searchAsModelled(new MemoryCheckpointer()));

  test(`SQLite and files: ${TITLE}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-search-model-"));
    for (const checkpointer of [
      sqliteCheckpointer({ path: join(folder, "a.db") }),
      new FileCheckpointer({ directory: join(folder, "threads") }),
    ]) {
      await searchAsModelled(checkpointer);
      await checkpointer.close();
    }
    await rm(folder, { recursive: true });
  });
});

await describeWithService("redis", (url) => {
  test(`Redis: ${TITLE}`, async () => {
    await using checkpointer = redisCheckpointer({ url, prefix: `search-model-${seed}:` });
    await searchAsModelled(checkpointer);
  });
});

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  afterAll(place.dispose);
  test(`PostgreSQL: ${TITLE}`, () => searchAsModelled(place.open({ dsn: url })));
});

await describeWithService("mysql", (url) => {
  test(`MySQL: ${TITLE}`, async () => {
    const { url: dsn, dispose } = await mysqlPlace(url);
    const checkpointer = mysqlCheckpointer({ dsn });
    await searchAsModelled(checkpointer);
    await checkpointer.close();
    await dispose();
  });
});

await describeWithOracle(({ options }) => {
  test(`Oracle: ${TITLE}`, async () => {
    await using checkpointer = oracleCheckpointer(options());
    await searchAsModelled(checkpointer);
  });
});

await describeWithService("opensearch", (url) => {
  const index = ownIndex(url);
  afterAll(index.remove);
  test(`OpenSearch: ${TITLE}`, async () => {
    await using checkpointer = opensearchCheckpointer(optionsOfUrl(index.namespace()));
    await searchAsModelled(checkpointer);
  });
});
