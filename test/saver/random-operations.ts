import { StateError } from "../../src/errors.ts";
import type { PutRequest, PutWritesRequest, SavedCheckpoint, Saver } from "../../src/saver/saver.ts";
import { assertSame } from "../../src/testing/same-value.ts";
import { ReferenceSaver } from "../broken/savers/reference-saver.ts";
import { type SeededRandom, seededRandom } from "../processes/seeded-random.ts";

export interface RandomRun {
  readonly seed: number;
  readonly operations: number;
  /** A saver on the storage under test, with nothing in its memory. */
  readonly open: () => Saver;
  readonly now: () => number;
  /** Called before every operation; may cut a wire or kill a server. What fails is made again until it succeeds. */
  readonly disturb?: (operation: number) => Promise<void> | void;
  /** Whether the last answer came late: what it counted was then counted by a call whose answer was lost. */
  readonly wasRepeated?: (saver: Saver) => boolean;
  /** How many stories run at once, each in its own threads: for a storage whose answers are waited for. @default 1 */
  readonly lanes?: number;
}

export interface RunCounts {
  upserts: number;
  early: number;
  late: number;
  forks: number;
  removals: number;
  dropped: number;
  reads: number;
}

const THREADS = ["t", "u/1", "é"];
const NAMESPACES = ["", "", "", "child", "child|a:1", "/"];
const CHANNELS = ["messages", "plan", "n", "__interrupt__", "__error__"];

/**
 * Two savers over one log and a model in Maps are given the same operations, at
 * random, and must never differ: writes before their put, ids put anew, ids older
 * than the newest, forks, caches dropped, histories pruned.
 */
export async function runRandomly(run: RandomRun): Promise<RunCounts> {
  const { seed, operations, lanes = 1 } = run;
  const counts: RunCounts = { upserts: 0, early: 0, late: 0, forks: 0, removals: 0, dropped: 0, reads: 0 };
  let begun = 0;
  const next = (): number | undefined => (begun < operations ? begun++ : undefined);
  const ends = await Promise.allSettled(
    Array.from({ length: lanes }, (_, lane) => {
      const threads = lane === 0 ? THREADS : THREADS.map((thread) => `${thread} ${lane}`);
      return runLane({ run, random: seededRandom(seed + lane), threads, counts, next });
    }),
  );
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return counts;
}

interface Lane {
  readonly run: RandomRun;
  readonly random: SeededRandom;
  readonly threads: readonly string[];
  readonly counts: RunCounts;
  /** The number of the next operation of all lanes, while there is one. */
  readonly next: () => number | undefined;
}

async function runLane({ run, random, threads, counts, next }: Lane): Promise<void> {
  const { seed, open, now, disturb, wasRepeated = () => false } = run;
  const model = new ReferenceSaver({ now });
  const savers = [open(), open()];
  const story = new Story(random, threads);
  for (let step = next(); step !== undefined; step = next()) {
    await disturb?.(step);
    const which = random.below(savers.length);
    if (random.below(40) === 0) {
      savers[which] = open();
      counts.dropped++;
    }
    const saver = savers[which] as Saver;
    const other = savers[1 - which] as Saver;
    try {
      await one({ random, story, model, saver, other, counts, wasRepeated });
    } catch (cause) {
      throw new Error(`seed ${seed}, operation ${step}: ${String(cause)}`, { cause });
    }
  }
  for (const saver of savers) await compareAll(model, saver, threads);
}

interface Turn {
  readonly random: SeededRandom;
  readonly story: Story;
  readonly model: ReferenceSaver;
  readonly saver: Saver;
  readonly other: Saver;
  readonly counts: RunCounts;
  readonly wasRepeated: (saver: Saver) => boolean;
}

async function one(turn: Turn): Promise<void> {
  const { random, story, model, saver, other, counts } = turn;
  const kind = random.below(100);
  if (kind < 40) {
    await model.put(await putBy(saver, story.put(counts)));
  } else if (kind < 62) {
    const writes = story.writes(counts);
    if (await hasWritten(saver, writes)) await model.putWrites(writes);
  } else if (kind < 70) {
    // Both at once, by two savers: about different checkpoints, so that their order does not matter.
    const put = story.put(counts);
    const writes = story.writes(counts, put.checkpointId);
    const [wasPut, isWritten] = await Promise.all([putBy(saver, put), hasWritten(other, writes)]);
    await model.put(wasPut);
    if (isWritten) await model.putWrites(writes);
  } else if (kind < 88) {
    counts.reads++;
    const request = story.get();
    assertSame(plain(await saver.get(request)), plain(await model.get(request)), `get ${JSON.stringify(request)}`);
  } else if (kind < 96) {
    counts.reads++;
    const request = story.list();
    const load = async (each: Saver) =>
      Promise.all((await each.listCheckpoints(request)).map(async (listed) => plain(await listed.load())));
    assertSame(await load(saver), await load(model), `list ${JSON.stringify(request)}`);
  } else {
    counts.removals++;
    await remove(turn);
  }
}

async function remove({ random, story, model, saver, wasRepeated }: Turn): Promise<void> {
  const threadId = story.thread();
  const kind = random.below(8);
  if (kind === 0) {
    // What it says is for the suite: a call whose answer was lost finds nothing left to delete.
    await Promise.all([saver.deleteThread(threadId), model.deleteThread(threadId)]);
    assertSame(await saver.get({ threadId }), undefined, "deleteThread");
    story.forget(threadId);
  } else if (kind < 4) {
    const request = { threadId, keepLast: 1 + random.below(6) };
    const [said, wanted] = [await saver.prune(request), await model.prune(request)];
    if (!wasRepeated(saver)) assertSame(said, wanted, "prune");
  } else {
    const request = { threadId, runIds: [`run ${random.below(5)}`] };
    const [said, wanted] = [await saver.deleteForRuns(request), await model.deleteForRuns(request)];
    if (!wasRepeated(saver)) assertSame(said, wanted, "deleteForRuns");
  }
}

/** Returns what was put in the end: a child of a checkpoint that was deleted with its thread is refused, and put without a parent. */
async function putBy(saver: Saver, put: PutRequest): Promise<PutRequest> {
  try {
    await insisting(() => saver.put(put));
    return put;
  } catch (error) {
    if (!isLost(error)) throw error;
    const { parentId: _, ...anew } = put;
    await insisting(() => saver.put(anew));
    return anew;
  }
}

/** False where they belong to a checkpoint that was deleted with its thread. */
async function hasWritten(saver: Saver, writes: PutWritesRequest): Promise<boolean> {
  try {
    await insisting(() => saver.putWrites(writes));
    return true;
  } catch (error) {
    if (!isLost(error)) throw error;
    return false;
  }
}

const isLost = (error: unknown): boolean =>
  StateError.is(error, "CONFLICT") && error.message.includes("is not in the thread any more");

/** A saver whose thread was deleted by the other one is told once; then the thread begins anew. */
async function insisting(call: () => Promise<void>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!StateError.is(error, "CONFLICT") || !error.message.includes("is not there any more")) throw error;
    await call();
  }
}

async function compareAll(model: Saver, saver: Saver, threads: readonly string[]): Promise<void> {
  for (const threadId of threads) {
    const load = async (each: Saver) =>
      Promise.all((await each.listCheckpoints({ threadId })).map(async (listed) => plain(await listed.load())));
    assertSame(await load(saver), await load(model), `all of ${threadId}`);
    for (const checkpointNs of new Set(NAMESPACES)) {
      const request = { threadId, checkpointNs };
      assertSame(plain(await saver.get(request)), plain(await model.get(request)), JSON.stringify(request));
    }
  }
}

/** Without what is frozen on one side and not on the other. */
const plain = (found: SavedCheckpoint | undefined): unknown =>
  found && { ...found, createdAt: 0, pendingWrites: [...found.pendingWrites] };

/** What happens: ids that mostly grow, lists that mostly grow, and the exceptions. */
class Story {
  readonly #random: SeededRandom;
  readonly #threads: readonly string[];
  readonly #ids = new Map<string, string[]>();
  readonly #early = new Map<string, string[]>();
  readonly #lists = new Map<string, string[]>();
  #clock = 1000;

  constructor(random: SeededRandom, threads: readonly string[]) {
    this.#random = random;
    this.#threads = threads;
  }

  thread(): string {
    return this.#pick(this.#threads);
  }

  forget(threadId: string): void {
    for (const key of this.#ids.keys()) if (key.startsWith(`${threadId} `)) this.#ids.delete(key);
  }

  put(counts: RunCounts): PutRequest {
    const { threadId, checkpointNs, key } = this.#place();
    const ids = this.#known(key);
    const early = this.#early.get(key) ?? [];
    const kind = this.#random.below(20);
    let checkpointId: string;
    if (kind === 0 && ids.length > 0) {
      checkpointId = this.#pick(ids);
      counts.upserts++;
    } else if (kind < 4 && early.length > 0) {
      checkpointId = early.shift() ?? "";
    } else checkpointId = this.#newId(kind === 19);
    const parentId = this.#parent(ids, counts);
    ids.push(checkpointId);
    return {
      threadId,
      checkpointNs,
      checkpointId,
      checkpointData: this.#data(key),
      ...(parentId !== undefined && { parentId }),
      metadata: { run_id: `run ${this.#random.below(5)}`, step: this.#random.below(3) },
    };
  }

  writes(counts: RunCounts, not = ""): PutWritesRequest {
    const { threadId, checkpointNs, key } = this.#place();
    const ids = this.#known(key).filter((id) => id !== not);
    const kind = this.#random.below(10);
    let checkpointId = ids.at(-1);
    if (kind === 0 || checkpointId === undefined) {
      checkpointId = this.#newId(false);
      this.#early.set(key, [...(this.#early.get(key) ?? []), checkpointId]);
      counts.early++;
    } else if (kind < 4) {
      checkpointId = this.#pick(ids);
      counts.late++;
    }
    const writes = Array.from(
      { length: 1 + this.#random.below(3) },
      () => [this.#pick(CHANNELS), this.#value(key)] as const,
    );
    return { threadId, checkpointNs, checkpointId, taskId: `task ${this.#random.below(4)}`, writes };
  }

  get() {
    const { threadId, checkpointNs, key } = this.#place();
    const ids = this.#known(key);
    const kind = this.#random.below(10);
    if (kind < 5 || ids.length === 0) return { threadId, checkpointNs };
    return { threadId, checkpointNs, checkpointId: kind === 9 ? "not there" : this.#pick(ids) };
  }

  list() {
    const { threadId, checkpointNs, key } = this.#place();
    const ids = this.#known(key);
    return {
      threadId,
      ...(this.#random.below(2) === 0 && { checkpointNs }),
      ...(this.#random.below(2) === 0 && { limit: this.#random.below(5) }),
      ...(this.#random.below(3) === 0 && ids.length > 0 && { before: this.#pick(ids) }),
      ...(this.#random.below(3) === 0 && { filter: { step: this.#random.below(3) } }),
    };
  }

  #place() {
    const [threadId, checkpointNs] = [this.thread(), this.#pick(NAMESPACES)];
    return { threadId, checkpointNs, key: `${threadId} ${checkpointNs}` };
  }

  #known(key: string): string[] {
    const ids = this.#ids.get(key) ?? [];
    this.#ids.set(key, ids);
    return ids;
  }

  #newId(isOld: boolean): string {
    this.#clock++;
    return isOld ? `c0-${this.#random.below(1e6)}` : `c${String(this.#clock).padStart(8, "0")}`;
  }

  #parent(ids: readonly string[], counts: RunCounts): string | undefined {
    const kind = this.#random.below(12);
    if (kind === 0) return undefined;
    if (kind < 3 && ids.length > 0) {
      counts.forks++;
      return this.#pick(ids);
    }
    return ids.at(-1);
  }

  #data(key: string): Record<string, unknown> {
    const data: Record<string, unknown> = {
      channel_values: { messages: this.#list(key), plan: this.#value(key), n: this.#random.below(3) },
      channel_versions: { messages: this.#random.below(99), n: 1 },
      step: this.#random.below(2),
    };
    if (this.#random.below(4) === 0) data["versions_seen"] = this.#random.below(2) === 0 ? {} : { node: { n: 1 } };
    return data;
  }

  /** Mostly the list of before and one more; now and then cut, changed or another namespace's. */
  #list(key: string): readonly string[] {
    const list = this.#lists.get(key) ?? [];
    this.#lists.set(key, list);
    const kind = this.#random.below(30);
    if (kind === 0) list.splice(0, this.#random.below(list.length + 1));
    else if (kind === 1) list.reverse();
    else if (kind === 2) return [...(this.#lists.get(this.#place().key) ?? [])];
    else
      list.push(`message ${this.#random.below(1e6)} ${"long enough to be shared ".repeat(1 + this.#random.below(4))}`);
    if (list.length > 60) list.splice(0, 30);
    return [...list];
  }

  #value(key: string): unknown {
    switch (this.#random.below(6)) {
      case 0:
        return undefined;
      case 1:
        return { messages: [...(this.#lists.get(key) ?? [])], at: new Date(this.#random.below(1e6)) };
      case 2:
        return [{ args: { deep: [...(this.#lists.get(key) ?? [])].slice(0, 5) } }];
      case 3:
        return new Map([[this.#random.below(9), "x".repeat(this.#random.below(90))]]);
      default:
        return this.#random.below(5);
    }
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#random.below(items.length)] as Item;
  }
}
