import { expect } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { EXIT } from "../../src/cli/exit-codes.ts";
import { growThread } from "../../src/testing/checkpointer-cases/conversations.ts";
import { type Served, served } from "../http/served.ts";
import { LOCAL_BACKENDS, type LocalBackend, type LocalStorage } from "../local-backends.ts";
import { type CuttingProxy, DIRECTIONS, startCuttingProxy } from "../network/cutting-proxy.ts";
import { FROM_AND_TO, standBetween } from "./copy-ends.ts";
import { everythingIn } from "./everything.ts";
import { holdfast } from "./fake-world.ts";

export interface CutCopies {
  /** Which end is the service. */
  readonly service: "from" | "to";
  /** 1 cuts at every byte, 7 at every seventh. */
  readonly every: number;
  /** The first byte that is cut at, below `every`. */
  readonly offset: number;
}

/** How often the wire was cut, and how often the command ended with that. */
export interface CutCopiesReport {
  readonly cuts: number;
  readonly failed: number;
}

const THREADS = ["gaps", "fork"];

/**
 * Copies from or to a service, with the wire cut after a number of bytes, and runs the
 * command again: then the target has all that the source has, and no write id twice.
 * The command retries nothing by itself here, so every cut shows.
 */
export async function cutCopies({ service, every, offset }: CutCopies): Promise<CutCopiesReport> {
  await using there = await served();
  const [memory] = LOCAL_BACKENDS as [LocalBackend];
  const here = await memory.create();
  const proxy = await startCuttingProxy({ targetPort: there.service.port });
  const [source, target] = service === "from" ? [there.behind, here.open()] : [here.open(), there.behind];
  await fill(source);
  let [cuts, failed] = [0, 0];
  for (const direction of DIRECTIONS) {
    for (let bytes = offset, missed = 0; missed < 2; bytes += every) {
      const cut = proxy.cutAfter({ direction, bytes });
      const code = await copyThrough(proxy, there, here, service);
      cut.disarm();
      const where = `cut at byte ${bytes} ${direction}`;
      expect([EXIT.done, EXIT.unavailable], where).toContain(code);
      if (!cut.fired) expect(code, where).toBe(EXIT.done);
      if (code !== EXIT.done) expect(await copyThrough(proxy, there, here, service), `${where}, again`).toBe(EXIT.done);
      await assertCopied(source, target, where);
      for (const threadId of THREADS) await target.delete(threadId);
      // Lengths vary by a digit.
      missed = cut.fired ? 0 : missed + 1;
      if (cut.fired) cuts++;
      if (code !== EXIT.done) failed++;
    }
  }
  await proxy.close();
  return { cuts, failed };
}

/** One run of the command, as a process of its own would make it: with a client that knows nothing yet. */
async function copyThrough(
  proxy: CuttingProxy,
  there: Served,
  here: LocalStorage,
  service: "from" | "to",
): Promise<number> {
  const client = there.client({ baseUrl: `http://127.0.0.1:${proxy.port}`, timeoutMs: 30_000 });
  const wired: LocalStorage = { open: () => client, dispose: async () => undefined };
  standBetween(...((service === "from" ? [wired, here] : [here, wired]) as [LocalStorage, LocalStorage]));
  const { code } = await holdfast(["copy", ...FROM_AND_TO]);
  await client.close();
  return code;
}

/** Small, because every byte of it is cut at. */
async function fill(source: Checkpointer): Promise<void> {
  const { ids } = await growThread(source, "gaps", 4);
  await source.delete("gaps", ids[1] ?? "");
  await source.fork("gaps", "fork", ids[2] ?? "");
}

async function assertCopied(source: Checkpointer, target: Checkpointer, where: string): Promise<void> {
  expect(await everythingIn(target), where).toEqual(await everythingIn(source));
  for (const threadId of THREADS) {
    const chain = await contextOf(target)?.log.readRecords(threadId, { limit: 1000 });
    const writeIds = chain?.records.map(({ writeId }) => writeId) ?? [];
    expect(writeIds.length, where).toBeGreaterThan(0);
    expect(new Set(writeIds).size, where).toBe(writeIds.length);
  }
}
