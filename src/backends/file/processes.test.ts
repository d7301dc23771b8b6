import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { FileLog } from "./log.ts";

const run = promisify(execFile);

/** Adds one to the number in the newest record, as often as asked. Every third time it also drops the record before. */
const COUNTER = `
  const [, module, directory, name, times, foldEvery] = process.argv;
  const { FileLog } = await import(module);
  const log = new FileLog({ directory, foldEvery: Number(foldEvery) });
  let [done, conflicts] = [0, 0];
  while (done < Number(times)) {
    const chain = await log.readTail("shared");
    const [seq, count] = [(chain?.tail.seq ?? 0) + 1, Number(chain?.records.at(-1).body ?? 0) + 1];
    const outcome = await log.append("shared", {
      expected: chain === undefined
        ? { generation: name, seq: 0, writeId: "" }
        : { generation: chain.generation, seq: chain.tail.seq, writeId: chain.tail.writeId },
      record: {
        seq, writeId: name + "-" + done, base: seq, head: seq, checkpointId: name + "-" + done,
        header: "{}", metadata: undefined, body: Buffer.from(String(count)), words: undefined,
      },
      ...(done % 3 === 2 && { drop: [seq - 1] }),
    });
    if (outcome.appended) done++;
    else conflicts++;
  }
  console.log(JSON.stringify({ conflicts }));
`;

test("processes that count on one thread at once reach the exact count: a conflict is reported, and no count is lost", async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-file-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const module = new URL("./log.ts", import.meta.url).href;
  const [processes, times] = [4, 40];
  const outcomes = await Promise.all(
    Array.from({ length: processes }, async (_, index) => {
      const flags = ["--import", "tsx", "--input-type=module", "--eval", COUNTER];
      const { stdout } = await run(process.execPath, [
        ...flags,
        ...[module, directory, `p${index}`, String(times), String(index % 2 === 0 ? 3 : 64)],
      ]);
      return JSON.parse(stdout) as { conflicts: number };
    }),
  );
  const log = new FileLog({ directory });
  const chain = await log.readTail("shared");
  expect(Buffer.from(chain!.records.at(-1)!.body).toString()).toBe(String(processes * times));
  expect(chain!.tail.seq).toBe(processes * times);
  expect(outcomes.reduce((sum, { conflicts }) => sum + conflicts, 0)).toBeGreaterThan(0);
  const kept = await log.list("shared", { limit: 1000 });
  const dropped = processes * Math.floor(times / 3);
  expect(kept).toHaveLength(processes * times - dropped);
});
