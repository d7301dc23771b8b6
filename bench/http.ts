/**
 * What HTTP adds: the same saves and loads on a checkpointer and through a
 * service in front of the same kind of storage, in turns; requests a second on
 * kept connections; bytes that a save sends early and late in a thread.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { HTTPCheckpointer } from "../src/backends/http/index.ts";
import { openCheckpointer } from "../src/backends/open.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { createToken } from "../src/entry/server.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { userMessage } from "../src/state/message.ts";
import { startCuttingProxy } from "../test/network/cutting-proxy.ts";
import { type Plan, STEPS } from "./checkpointers.ts";
import { keepLimits, limit } from "./limits.ts";
import { median, timed } from "./statistics.ts";
import { milliseconds, renderTable } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";
import { conversation } from "./workload.ts";

interface Overhead {
  readonly storage: string;
  readonly operation: "save" | "load";
  readonly directMs: Quantiles;
  readonly httpMs: Quantiles;
  /** The difference of the quantiles. */
  readonly addedMs: Quantiles;
}

type Way = "direct" | "http";

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

export interface HttpResult {
  readonly overheads: readonly Overhead[];
  /** `exists()` in front of memory. */
  readonly requestsPerSecond: { readonly oneAtATime: number; readonly sixteenAtOnce: number };
  /** The bytes of one save, headers included. */
  readonly saveBytes: { readonly step10: number; readonly step400: number };
  readonly verdicts: readonly Verdict[];
}

export async function benchHttp(plan: Plan): Promise<HttpResult> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-http-"));
  try {
    const overheads: Overhead[] = [];
    const places = {
      memory: ["memory:", "memory:"],
      sqlite: [`sqlite:${folder}/direct.db`, `sqlite:${folder}/served.db`],
    };
    for (const [storage, [direct = "", served = ""]] of Object.entries(places)) {
      overheads.push(...(await overheadsOf(storage, direct, served, plan)));
    }
    const requestsPerSecond = await throughput();
    const saveBytes = await bytesOfSaves(plan.seed);
    console.log(`\n${table(overheads)}`);
    const { oneAtATime, sixteenAtOnce } = requestsPerSecond;
    console.log(
      `\nrequests a second on kept connections: ${oneAtATime.toFixed(0)} one at a time, ${sixteenAtOnce.toFixed(0)} sixteen at once`,
    );
    console.log(
      `bytes that a save sends, headers included: ${saveBytes.step10} at step 10, ${saveBytes.step400} at step ${STEPS}`,
    );
    const growth = saveBytes.step400 / saveBytes.step10;
    const verdicts = [
      verdict(`a save at step ${STEPS} sends at most 1.05x one at step 10`, 1.05, growth, `${growth.toFixed(3)}x`),
      ...judged(overheads),
    ];
    return { overheads, requestsPerSecond, saveBytes, verdicts };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const GOALS = {
  save: { line: "added by HTTP to a save", mostMs: 0.8 },
  load: { line: "added by HTTP to a load of 400", mostMs: 2 },
} as const;

/** The p50 that HTTP adds in front of memory, where nothing else takes time; also kept as lines of "To the limit". */
function judged(overheads: readonly Overhead[]): readonly Verdict[] {
  const found = overheads.filter(({ storage }) => storage === "memory");
  const rows = found.map(({ operation, addedMs: { p50 } }) => {
    const { line, mostMs } = GOALS[operation];
    const shown = milliseconds(p50);
    const how = operation === "load" ? "the whole thread: nothing of it is in the client's cache; " : "";
    return {
      kept: limit(line, shown, p50 <= mostMs, `${how}client and service share two processors`),
      verdict: verdict(`${line} at most ${mostMs} ms`, mostMs, p50, shown),
    };
  });
  keepLimits(
    "http",
    rows.map(({ kept }) => kept),
  );
  return rows.map((row) => row.verdict);
}

/** How often each way loads the whole thread in a round. */
const LOADS = 50;
/** Rounds that are not counted: a service runs for days, and its code is compiled for good only after some thousand requests. */
const WARMING = 12;

async function overheadsOf(storage: string, directUrl: string, servedUrl: string, plan: Plan): Promise<Overhead[]> {
  const service = await startService(servedUrl);
  // Without a cache: a load reads the whole thread, by either way.
  const ways = { direct: await openCheckpointer(directUrl, { cacheBytes: 0 }), http: service.open() };
  const times = {
    save: { direct: [] as number[], http: [] as number[] },
    load: { direct: [] as number[], http: [] as number[] },
  };
  /** They alternate, so that other load on the machine affects both. */
  const inTurns = async (
    operation: "save" | "load",
    round: number,
    work: (way: Way, checkpointer: Checkpointer) => Promise<unknown>,
  ): Promise<void> => {
    for (const way of ["direct", "http"] as const) {
      const took = await timed(() => work(way, ways[way]));
      if (round > 0) times[operation][way].push(took);
    }
  };
  try {
    for (let round = 1 - WARMING; round <= plan.rounds; round++) {
      const thread = `thread ${round}`;
      const states: Record<Way, AgentState> = { direct: AgentState.create(), http: AgentState.create() };
      for (const { content } of conversation(plan.seed, STEPS)) {
        for (const way of ["direct", "http"] as const) states[way] = states[way].withMessage(userMessage(content));
        await inTurns("save", round, (way, checkpointer) => checkpointer.save(states[way], thread));
      }
      for (let index = 0; index < LOADS; index++) {
        await inTurns("load", round, (_, checkpointer) => checkpointer.load(thread));
      }
    }
  } finally {
    await ways.http.close();
    await ways.direct.close();
    await service.stop();
  }
  return (["save", "load"] as const).map((operation) => overhead(storage, operation, times[operation]));
}

function overhead(storage: string, operation: "save" | "load", times: Record<"direct" | "http", number[]>): Overhead {
  const [directMs, httpMs] = [quantiles(times.direct), quantiles(times.http)];
  const addedMs = { p50: httpMs.p50 - directMs.p50, p99: httpMs.p99 - directMs.p99 };
  return { storage, operation, directMs, httpMs, addedMs };
}

function quantiles(values: readonly number[]): Quantiles {
  const sorted = values.toSorted((a, b) => a - b);
  return { p50: median(sorted), p99: sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))]! };
}

async function throughput(): Promise<HttpResult["requestsPerSecond"]> {
  const service = await startService("memory:");
  const remote = service.open();
  const asked = 2000;
  const ask = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) await remote.exists("thread");
  };
  try {
    await ask(asked / 4);
    const alone = await timed(() => ask(asked));
    const together = await timed(() => Promise.all(Array.from({ length: 16 }, () => ask(asked / 4))));
    return { oneAtATime: (asked / alone) * 1000, sixteenAtOnce: ((asked * 4) / together) * 1000 };
  } finally {
    await remote.close();
    await service.stop();
  }
}

async function bytesOfSaves(seed: number): Promise<HttpResult["saveBytes"]> {
  const service = await startService("memory:");
  const proxy = await startCuttingProxy({ targetPort: Number(new URL(service.url).port) });
  const remote = service.open(`http://127.0.0.1:${proxy.port}`);
  try {
    let state = AgentState.create();
    const sent: number[] = [];
    for (const { content } of conversation(seed, STEPS)) {
      state = state.withMessage(userMessage(content));
      const before = proxy.forwarded["to server"];
      await remote.save(state, "thread");
      sent.push(proxy.forwarded["to server"] - before);
    }
    return { step10: sent[9]!, step400: sent[STEPS - 1]! };
  } finally {
    await remote.close();
    await proxy.close();
    await service.stop();
  }
}

interface StartedService {
  readonly url: string;
  open(baseUrl?: string): Checkpointer;
  stop(): Promise<void>;
}

async function startService(storeUrl: string): Promise<StartedService> {
  const { token, sha256 } = createToken();
  const program = fileURLToPath(new URL("http-service.ts", import.meta.url));
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    ["--import", "tsx", program, storeUrl, sha256],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.once("data", (text: Buffer) => resolve(text.toString().trim()));
    child.once("exit", (code) => reject(new Error(`the service ended with ${code}`)));
  });
  return {
    url,
    open: (baseUrl = url) => new HTTPCheckpointer({ baseUrl, token, cacheBytes: 0 }),
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}

const table = (rows: readonly Overhead[]): string =>
  renderTable(
    ["HTTP in front of", "direct p50", "p99", "over HTTP p50", "p99", "added p50", "p99"],
    rows.map(({ storage, operation, directMs, httpMs, addedMs }) => [
      `${storage}, ${operation}`,
      ...[directMs, httpMs, addedMs].flatMap(({ p50, p99 }) => [milliseconds(p50), milliseconds(p99)]),
    ]),
  );
