/**
 * What must not grow with a thread: adding a message and saving it, and loading a thread that the process knows. The
 * long and the short thread are measured by turns, so that whatever else runs on the machine meets both.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresqlCheckpointer } from "../src/backends/postgres/index.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { contextOf } from "../src/checkpoint/context.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { startPostgres } from "../test/services/postgres.ts";
import { SERVICES } from "../test/services/services.ts";
import { keepLimits, limit } from "./limits.ts";
import { median, medianRatio, timed } from "./statistics.ts";
import { milliseconds, renderTable, times } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";
import { conversation, type WorkloadMessage } from "./workload.ts";

export interface LengthResult {
  readonly saves: { readonly longMs: number; readonly shortMs: number; readonly ratio: number };
  readonly loads: readonly WarmLoad[];
  readonly verdicts: readonly Verdict[];
}

export interface WarmLoad {
  readonly store: string;
  readonly messages: number;
  readonly loadMs: number;
  /** The driver's own read of the same thread that brings nothing, because nothing is new: the floor of any load. */
  readonly emptyMs: number;
  readonly ratio: number;
}

const [LONG, SHORT] = [100_000, 1_000];
const WARM = [40, 40_000];
const SAVES = 200;
const LOADS = 100;
const WARM_UP = 150;
const IN_A_ROW = 10;
const MOST_GROWTH = 2;
const MOST_WARM = 1.2;
/** One save brings no more than this, or its record would not fit. */
const AT_ONCE = 10_000;
/** More than the longest thread takes. */
const CACHE_BYTES = 256 * 1024 * 1024;

export async function benchLength({ seed }: { readonly seed: number }): Promise<LengthResult> {
  const words = conversation(seed, SHORT);
  const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-length-"));
  try {
    const sqlite = sqliteCheckpointer({ path: join(directory, "holdfast.db"), cacheBytes: CACHE_BYTES });
    const saves = await growthOf(sqlite, words);
    const loads = await warmLoadsOf("SQLite", sqlite, words);
    await sqlite.close();
    loads.push(...(await onPostgres(words)));
    return judged(saves, loads);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function onPostgres(words: readonly WorkloadMessage[]): Promise<readonly WarmLoad[]> {
  if (!(await SERVICES.postgres.isHere())) {
    console.log(`\nPostgreSQL is not measured: ${SERVICES.postgres.howToGet}`);
    return [];
  }
  const server = await startPostgres();
  try {
    const postgres = postgresqlCheckpointer({ dsn: server.url, schema: "bench_length", cacheBytes: CACHE_BYTES });
    const loads = await warmLoadsOf("PostgreSQL", postgres, words);
    await postgres.close();
    return loads;
  } finally {
    await server.stop();
  }
}

async function growthOf(checkpointer: Checkpointer, words: readonly WorkloadMessage[]): Promise<LengthResult["saves"]> {
  let long = await threadOf(checkpointer, "long", LONG, words);
  let short = await threadOf(checkpointer, "short", SHORT, words);
  const [longMs, shortMs]: [number[], number[]] = [[], []];
  for (let step = 0; step < SAVES; step++) {
    const message = words[step % words.length]!;
    longMs.push(
      await timed(async () => {
        long = long.withMessage(message);
        await checkpointer.save(long, "long");
      }),
    );
    shortMs.push(
      await timed(async () => {
        short = short.withMessage(message);
        await checkpointer.save(short, "short");
      }),
    );
  }
  return { longMs: median(longMs), shortMs: median(shortMs), ratio: medianRatio(longMs, shortMs) };
}

async function warmLoadsOf(
  store: string,
  checkpointer: Checkpointer,
  words: readonly WorkloadMessage[],
): Promise<WarmLoad[]> {
  const loads: WarmLoad[] = [];
  for (const messages of WARM) {
    const threadId = `warm ${messages}`;
    await threadOf(checkpointer, threadId, messages, words);
    const emptyRead = await emptyReadOf(checkpointer, threadId);
    const [loadMs, emptyMs]: [number[], number[]] = [[], []];
    for (let step = 0; step < WARM_UP + LOADS; step++) {
      const [load, empty] = [await inARow(() => checkpointer.load(threadId)), await inARow(emptyRead)];
      if (step < WARM_UP) continue;
      loadMs.push(load);
      emptyMs.push(empty);
    }
    const ratio = medianRatio(loadMs, emptyMs);
    loads.push({ store, messages, loadMs: median(loadMs), emptyMs: median(emptyMs), ratio });
  }
  return loads;
}

/** The time of one of several in a row: one alone takes so little on SQLite that the clock itself shows. */
async function inARow(work: () => Promise<unknown>): Promise<number> {
  const all = await timed(async () => {
    for (let count = 0; count < IN_A_ROW; count++) await work();
  });
  return all / IN_A_ROW;
}

async function emptyReadOf(checkpointer: Checkpointer, threadId: string): Promise<() => Promise<unknown>> {
  const log = contextOf(checkpointer)?.log;
  const tail = await log?.tail(threadId);
  if (log === undefined || tail === undefined) throw new Error(`${threadId} is not there`);
  const newerThan = { generation: tail.generation, seq: tail.entry.seq, writeId: tail.entry.writeId };
  return () => log.readTail(threadId, { newerThan });
}

/** A thread of that many messages, saved, and with what a process holds of it. */
async function threadOf(
  checkpointer: Checkpointer,
  threadId: string,
  length: number,
  words: readonly WorkloadMessage[],
): Promise<AgentState> {
  let state = AgentState.create();
  for (let begin = 0; begin < length; begin += AT_ONCE) {
    const count = Math.min(AT_ONCE, length - begin);
    state = state.withMessages(Array.from({ length: count }, (_, index) => ({ ...words[index % words.length]! })));
    await checkpointer.save(state, threadId);
  }
  return state;
}

function judged(saves: LengthResult["saves"], loads: readonly WarmLoad[]): LengthResult {
  const rows = loads.map(({ store, messages, loadMs, emptyMs, ratio }) => [
    `warm load of ${messages} messages, ${store}`,
    milliseconds(loadMs),
    milliseconds(emptyMs),
    times(ratio),
  ]);
  const growth = [
    `add and save at ${LONG} messages, at ${SHORT}`,
    milliseconds(saves.longMs),
    milliseconds(saves.shortMs),
  ];
  console.log(`\n${renderTable(["", "this", "the other", "ratio"], [[...growth, times(saves.ratio)], ...rows])}`);
  const grown = "add one message and save on SQLite, at 100,000 messages / at 1,000";
  const verdicts = [
    verdict(grown, MOST_GROWTH, saves.ratio, times(saves.ratio)),
    ...WARM.map((messages) => {
      const those = loads.filter((load) => load.messages === messages);
      const shown = those.map(({ store, ratio }) => `${times(ratio)} ${store}`).join(", ");
      const worst = Math.max(...those.map(({ ratio }) => ratio));
      return verdict(
        `a warm load of ${messages.toLocaleString("en")} messages / an empty read`,
        MOST_WARM,
        worst,
        shown,
      );
    }),
  ];
  const reason = "the empty read is the driver's own, of the same thread, when nothing is new";
  keepLimits(
    "length",
    verdicts.map(({ target, shown, met }) => limit(target, shown, met, target === grown ? WHERE_THE_COPY_IS : reason)),
  );
  return { saves, loads, verdicts };
}

const WHERE_THE_COPY_IS = "the plain array is built when `messages` is read: one copy, which a save does not need";
