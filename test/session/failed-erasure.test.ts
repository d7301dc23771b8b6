import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { failureOf } from "../failure-of.ts";
import { KEY } from "./people.ts";

/** Takes this many writes and no more. */
class FillingLog extends MemoryLog {
  writes = Number.POSITIVE_INFINITY;

  override async append(...args: Parameters<MemoryLog["append"]>): ReturnType<MemoryLog["append"]> {
    if (this.writes-- <= 0) throw new Error("no space");
    return super.append(...args);
  }
}

const THREADS = ["a", "b", "c"];

async function place() {
  const log = new FillingLog();
  const checkpointer = new Checkpointer(log, { retry: { attempts: 1 } });
  const store = new InMemoryStore();
  const said = AgentState.create().withMessage(userMessage("hi", { metadata: { subject: "ada" } }));
  for (const threadId of THREADS) {
    await checkpointer.save(said, threadId);
    await store.put(["notes"], threadId, "note", { metadata: { subject: "ada" } });
  }
  const stores = [store];
  const data = new PersonalData({ checkpointers: [checkpointer], stores, ledger: new InMemoryStore(), key: KEY });
  return { log, checkpointer, data };
}

const counts = (receipt: { readonly places: readonly object[] } | undefined) => receipt?.places;
const ALL = [
  expect.objectContaining({ backend: "threads 1", records: 3, messages: 3 }),
  expect.objectContaining({ backend: "store 1", items: 3 }),
];

test("an erasure that fails after any write, and is resumed: its receipt counts all that was erased, once", async () => {
  let failures = 0;
  for (let writes = 0, isFailed = true; isFailed; writes++) {
    const { log, data } = await place();
    log.writes = writes;
    const failure = await failureOf(() => data.eraseUser("ada")).catch(() => undefined);
    isFailed = failure !== undefined;
    if (isFailed) failures++;
    log.writes = Number.POSITIVE_INFINITY;
    await data.resume();
    const receipts = await data.receipts();
    expect([writes, receipts.map(counts)]).toEqual([writes, [ALL]]);
    expect((await data.inventory("ada")).total).toBe(0);
  }
  expect(failures).toBeGreaterThanOrEqual(THREADS.length);
});

test("an erasure that a hold kept from its end counts, when it comes to it, what it had erased before", async () => {
  const { data } = await place();
  const { id } = await data.placeHold({ threadPrefix: "b", by: "counsel", reason: "case 17" });
  await expect(data.eraseUser("ada")).rejects.toMatchObject({ code: "HELD" });
  await data.liftHold(id, { by: "counsel", reason: "over" });
  await data.resume();
  expect((await data.receipts()).map(counts)).toEqual([ALL]);
});
