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
import { createToken } from "../src/server/index.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { userMessage } from "../src/state/message.ts";
import { startCuttingProxy } from "../test/network/cutting-proxy.ts";
import { type Plan, STEPS } from "./checkpointers.ts";
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

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

export interface HttpResult {
  readonly overheads: readonly Overhead[];
  /** `exists()` in front of memory. */
  readonly requestsPerSecond: { readonly oneAtATime: number; readonly sixteenAtOnce: number };
  /** Of one save, headers included. */
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
    ];
    return { overheads, requestsPerSecond, saveBytes, verdicts };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function overheadsOf(storage: string, directUrl: string, servedUrl: string, plan: Plan): Promise<Overhead[]> {
  const service = await startService(servedUrl);
  const direct = await openCheckpointer(directUrl);
  const remote = service.open();
  const times = {
    save: { direct: [] as number[], http: [] as number[] },
    load: { direct: [] as number[], http: [] as number[] },
  };
  try {
    const messages = conversation(plan.seed, STEPS);
    for (let round = 0; round <= plan.rounds; round++) {
      const states: Record<"direct" | "http", AgentState> = { direct: AgentState.create(), http: AgentState.create() };
      for (const [step, { content }] of messages.entries()) {
        for (const [way, checkpointer] of [
          ["direct", direct],
          ["http", remote],
        ] as const) {
          const next = states[way].withMessage(userMessage(content));
          const save = await timed(() => checkpointer.save(next, `thread ${round}`));
          states[way] = next;
          const load = step % 20 === 10 ? await timed(() => checkpointer.load(`thread ${round}`)) : undefined;
          // The first round warms both up.
          if (round > 0) times.save[way].push(save);
          if (round > 0 && load !== undefined) times.load[way].push(load);
        }
      }
    }
  } finally {
    await remote.close();
    await direct.close();
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
    open: (baseUrl = url) => new HTTPCheckpointer({ baseUrl, token }),
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
