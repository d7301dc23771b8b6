import { expect, test } from "vitest";
import { LOCAL_BACKENDS } from "../../../test/local-backends.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { growThread } from "../../testing/checkpointer-cases/conversations.ts";
import { Checkpointer } from "../checkpointer.ts";
import type { LogChain, LogRecord } from "../log/thread-log.ts";

test.each(LOCAL_BACKENDS)(
  "every record of a whole thread on $name is proven, also after deletions and forks",
  async ({ create }) => {
    const storage = await create();
    try {
      const checkpointer = storage.open();
      const { ids } = await growThread(checkpointer, "t", 130);
      await checkpointer.delete("t", ids[3] ?? "");
      await checkpointer.delete("t", ids.at(-1) ?? "");
      await checkpointer.fork("t", "fork", ids[5] ?? "");
      for (const id of ["t", "fork"]) expect(await checkpointer.verify(id)).toMatchObject({ faults: [], lost: [] });
      expect((await checkpointer.verify("t"))?.records).toBeGreaterThanOrEqual(128);
      expect(await checkpointer.verify("not there")).toBe(undefined);
    } finally {
      await storage.dispose();
    }
  },
);

/** Hands out records as `change` leaves them. */
class AlteredLog extends MemoryLog {
  change: (record: LogRecord) => LogRecord | undefined = (record) => record;

  override async readRecords(...given: Parameters<MemoryLog["readRecords"]>): Promise<LogChain | undefined> {
    const chain = await super.readRecords(...given);
    return chain && { ...chain, records: chain.records.flatMap((record) => this.change(record) ?? []) };
  }
}

test("a damaged record, a damaged header and a missing record are named, with the checkpoints that are lost", async () => {
  const log = new AlteredLog();
  const checkpointer = new Checkpointer(log);
  const { ids } = await growThread(checkpointer, "t", 6);
  const at = (seq: number, change: (record: LogRecord) => LogRecord | undefined) => (record: LogRecord) =>
    record.seq === seq ? change(record) : record;
  const damages: [(record: LogRecord) => LogRecord | undefined, seq: number][] = [
    [at(4, (record) => ({ ...record, body: Buffer.from("{}") })), 4],
    [at(4, (record) => ({ ...record, header: "{" })), 4],
    [at(4, (record) => ({ ...record, metadata: '{"a":1}' })), 4],
    [at(3, () => undefined), 4],
  ];
  for (const [change, seq] of damages) {
    log.change = change;
    const verdict = await checkpointer.verify("t");
    expect(verdict?.faults).toMatchObject([{ seq, code: "CORRUPT" }]);
    expect(verdict?.lost).toEqual(ids.slice(3));
  }
  log.change = at(4, (record) => ({ ...record, header: record.header.replace('"format":1', '"format":99') }));
  expect((await checkpointer.verify("t"))?.faults).toMatchObject([{ seq: 4, code: "INCOMPATIBLE" }]);
});
