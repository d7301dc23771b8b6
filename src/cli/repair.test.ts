import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { holdfast } from "../../test/cli/fake-world.ts";
import { standIn, threadsIn } from "../../test/cli/standing-in.ts";
import { MemoryLog } from "../backends/memory/log.ts";
import { Checkpointer } from "../checkpoint/checkpointer.ts";
import { PrefixLog } from "../checkpoint/log/prefix-log.ts";
import type { LogChain, LogEntry, LogRecord } from "../checkpoint/log/thread-log.ts";
import { openHeader, withChecksum } from "../checkpoint/record/record.ts";
import { AgentState } from "../state/agent-state.ts";
import { assistantMessage, userMessage } from "../state/message.ts";
import { growThread } from "../testing/checkpointer-cases/conversations.ts";

type Change = (record: LogRecord) => LogRecord | undefined;

/** A storage of which one record of the thread "t" is handed out as `change` leaves it. */
class DamagedLog extends MemoryLog {
  seq = 0;
  change: Change = (record) => record;

  override async readRecords(...given: Parameters<MemoryLog["readRecords"]>): Promise<LogChain | undefined> {
    return this.#altered(given[0], await super.readRecords(...given));
  }

  override async readCheckpoint(...given: Parameters<MemoryLog["readCheckpoint"]>): Promise<LogChain | undefined> {
    return this.#altered(given[0], await super.readCheckpoint(...given));
  }

  override async readTail(...given: Parameters<MemoryLog["readTail"]>): Promise<LogChain | undefined> {
    return this.#altered(given[0], await super.readTail(...given));
  }

  override async list(...given: Parameters<MemoryLog["list"]>): Promise<readonly LogEntry[]> {
    const isGone = (entry: LogEntry) => entry.seq === this.seq && this.change(entry as LogRecord) === undefined;
    return (await super.list(...given)).filter((entry) => given[0] !== "t" || !isGone(entry));
  }

  #altered(threadId: string, chain: LogChain | undefined): LogChain | undefined {
    if (threadId !== "t") return chain;
    const one = (record: LogRecord) => (record.seq === this.seq ? (this.change(record) ?? []) : record);
    return chain && { ...chain, records: chain.records.flatMap(one) };
  }
}

let log: DamagedLog;
let ids: readonly string[];
let directory: string;
beforeEach(async () => {
  log = new DamagedLog();
  ({ ids } = await growThread(new Checkpointer(new PrefixLog(log, "")), "t", 6));
  standIn(log);
  directory = await mkdtemp(join(tmpdir(), "holdfast-repair-"));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(directory, { recursive: true });
});

const repair = async (args: readonly string[] = []) => holdfast(["repair", "sqlite:a.db", "t", "--json", ...args]);

/** A record that is what was written, and whose writer wrote something else than a state. */
function resealed(record: LogRecord, body: string): LogRecord {
  const { format: _, bodyBytes: _bytes, ...fields } = openHeader(record);
  return withChecksum({ ...record, body: Buffer.from(body), fields });
}

const DAMAGES: Readonly<Record<string, readonly [change: Change, sentence: RegExp, seq?: number]>> = {
  "a header that cannot be read": [(record) => ({ ...record, header: "{" }), /header of record 4 is damaged/],
  "a byte of the body": [(record) => ({ ...record, body: flipped(record.body) }), /does not match its checksum/],
  "its metadata": [(record) => ({ ...record, metadata: '{"a":1}' }), /does not match its checksum/],
  "its write id": [(record) => ({ ...record, writeId: "other" }), /does not match its checksum/],
  "a record that is gone": [() => undefined, /builds on record 4, which is missing/],
  "a newer format": [
    (record) => ({ ...record, header: record.header.replace('"format":1', '"format":99') }),
    /written by format v99/,
  ],
  "a body that is no state": [(record) => resealed(record, "[]"), /neither a state nor a change/],
  "a body that is no JSON": [(record) => resealed(record, "{"), /record 4/],
};

const flipped = (body: Uint8Array): Uint8Array => Uint8Array.from(body, (byte, at) => (at === 9 ? byte ^ 1 : byte));

describe.each(Object.entries(DAMAGES))("with damage in %s", (_, [change, sentence]) => {
  beforeEach(() => {
    log.seq = 4;
    log.change = change;
  });

  test("repair says which record it is and what still loads, as load does", async () => {
    const { code, stdout } = await repair();
    const { faults, lost, newestIntact } = JSON.parse(stdout);
    expect([code, newestIntact]).toEqual([6, ids[2]]);
    expect(faults[0].message).toMatch(sentence);
    const reader = new Checkpointer(new PrefixLog(log, ""));
    const listed = (await log.list("t", { limit: 100 })).map((entry) => entry.checkpointId ?? "");
    for (const checkpointId of listed) {
      const loads = await reader.load("t", { checkpointId }).then(
        (state) => state !== undefined,
        () => false,
      );
      expect([checkpointId, loads]).toEqual([checkpointId, !lost.includes(checkpointId)]);
    }
  });

  test("repair --to makes a thread of what loads, and leaves the damaged one as it is", async () => {
    const before = JSON.stringify(await log.readRecords("t", { limit: 100 }));
    expect((await repair(["--to", "saved", "--dry-run"])).code).toBe(0);
    expect(await threadsIn(log)).toEqual(["t"]);
    expect((await repair(["--to", "saved"])).code).toBe(0);
    const reader = new Checkpointer(new PrefixLog(log, ""));
    const saved = await reader.load("saved");
    expect(saved?.messages).toEqual((await reader.load("t", ids[2] ?? ""))?.messages);
    expect(JSON.stringify(await log.readRecords("t", { limit: 100 }))).toBe(before);
    expect((await repair(["--to", "saved"])).code).toBe(5);
  });
});

test("--salvage keeps what the records behind the damage tell, marked as unproven, and overwrites no file", async () => {
  log.seq = 4;
  log.change = (record) => ({ ...record, body: flipped(record.body) });
  const file = join(directory, "lost.ndjson");
  expect((await repair(["--salvage", file, "--dry-run"])).code).toBe(6);
  await expect(readFile(file)).rejects.toMatchObject({ code: "ENOENT" });
  expect((await repair(["--salvage", file])).code).toBe(6);
  const [head, ...lines] = (await readFile(file, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(head).toMatchObject({ type: "holdfast-salvage", threadId: "t" });
  expect(lines.map(({ seq, proven }) => [seq, proven])).toEqual([
    [4, false],
    [5, true],
    [6, true],
  ]);
  const last = await new Checkpointer(new PrefixLog(log, "")).load("t", ids[2] ?? "");
  expect(lines[1].messages.length).toBeGreaterThan(0);
  expect(last?.messages).not.toContainEqual(lines[1].messages[0]);
  expect((await repair(["--salvage", file])).code).toBe(2);
});

test("a thread of which nothing loads is not forked, and a whole one needs no repair", async () => {
  expect(await repair()).toMatchObject({ code: 0, stderr: "" });
  log.seq = 1;
  log.change = () => undefined;
  expect(JSON.parse((await repair()).stdout)).toMatchObject({ newestIntact: null, lost: ids.slice(1) });
  expect((await repair(["--to", "saved"])).code).toBe(6);
  expect(await threadsIn(log)).toEqual(["t"]);
  expect((await holdfast(["repair", "sqlite:a.db", "absent"])).code).toBe(4);
});

test("a call that was open where the damage begins is not run again in the thread that is made", async () => {
  const writer = new Checkpointer(new PrefixLog(log, ""));
  const call = { id: "call-1", name: "charge", arguments: {} };
  let state = AgentState.create()
    .withMessage(userMessage("pay"))
    .withMessage(assistantMessage("", { toolCalls: [call] }))
    .withToolExecution({ toolCallId: "call-1", toolName: "charge", status: "intended", idempotencyKey: "k" });
  await writer.delete("t");
  await writer.save(state, "t", "open");
  state = state.withMessage(userMessage("and more"));
  await writer.save(state, "t", "lost");
  log.seq = 2;
  log.change = (record) => ({ ...record, header: "{" });
  expect((await repair(["--to", "saved"])).code).toBe(0);
  expect((await writer.load("saved"))?.toolExecutions[0]?.status).toBe("failed");
});
