import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import type { Subject } from "./proving.ts";

export interface Latency {
  readonly calls: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

export interface Latencies {
  readonly save: Latency;
  readonly load: Latency;
  readonly list: Latency;
}

const CALLS = 200;
/** A store that is far away is asked less often. */
const MOST_MS = 10_000;

/** How long a save, a load and a list of a small thread take, as a program here would find it. */
export async function latenciesOf({ context, scratch, signal }: Subject): Promise<Latencies> {
  const checkpointer = new Checkpointer(scratch.view(context.log, 0), { now: context.now });
  let state = AgentState.create().withMessage(userMessage("how long does this take?"));
  let saves = 0;
  const save = await timed(signal, async () => {
    state = state.withMetadata({ saves: ++saves });
    await checkpointer.save(state, "latency");
  });
  const load = await timed(signal, () => checkpointer.load("latency"));
  const list = await timed(signal, () => checkpointer.listCheckpoints("latency", 20));
  await checkpointer.close();
  return { save, load, list };
}

async function timed(signal: AbortSignal, work: () => Promise<unknown>): Promise<Latency> {
  const times: number[] = [];
  for (let spent = 0; times.length < CALLS && spent < MOST_MS; ) {
    signal.throwIfAborted();
    const begun = performance.now();
    await work();
    const took = performance.now() - begun;
    times.push(took);
    spent += took;
  }
  times.sort((a, b) => a - b);
  const at = (part: number): number => Number((times[Math.floor(part * (times.length - 1))] ?? 0).toFixed(2));
  return { calls: times.length, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
}
