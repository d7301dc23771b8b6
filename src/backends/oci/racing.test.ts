import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cutLoads, cutSaves } from "../../../test/network/wire-cuts.ts";
import { OciStandIn } from "../../../test/oci-stand-in/stand-in.ts";
import { logOptions, placeOn, wiredBucket } from "../../../test/oci-stand-in/test-bucket.ts";
import { Programs } from "../../../test/processes/programs.ts";
import { race } from "../../../test/processes/racing-writers.ts";
import { seededRandom } from "../../../test/processes/seeded-random.ts";
import { seed } from "../../../test/property-seed.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { textOf, userMessage } from "../../state/message.ts";
import { placeAt } from "../../testing/thread-log-cases/sample-records.ts";
import { OCIBucketBackend } from "./index.ts";
import { OciLog } from "./log.ts";

let standIn: OciStandIn;
beforeAll(async () => {
  standIn = await OciStandIn.start({ mostListed: 5 });
});
afterAll(() => standIn.close());

test("six writers of one thread in one process, each with its own client, lose nothing", async () => {
  const place = placeOn(standIn);
  const writers = Array.from({ length: 6 }, () => new OCIBucketBackend(place));
  const conflicts = await Promise.all(
    writers.map(async (writer, index) => {
      let refused = 0;
      for (let done = 0; done < 8; ) {
        const state = (await writer.load("t")) ?? AgentState.create();
        try {
          await writer.save(state.withMessage(userMessage(`${index}:${done}`)), "t");
          done++;
        } catch (error) {
          if (!StateError.is(error, "CONFLICT")) throw error;
          refused++;
        }
      }
      return refused;
    }),
  );
  const found = (await writers[0]?.load("t"))?.messages.map(textOf) ?? [];
  expect(found).toHaveLength(48);
  for (let index = 0; index < 6; index++) {
    const own = found.filter((text) => text.startsWith(`${index}:`));
    expect(own).toEqual(Array.from({ length: 8 }, (_, done) => `${index}:${done}`));
  }
  expect(conflicts.reduce((sum, count) => sum + count)).toBeGreaterThan(0);
  expect(await writers[1]?.listCheckpoints("t", { limit: 100 })).toHaveLength(48);
});

test("copies, deletions and new threads that meet at one name leave a complete thread or no thread, and nothing else", async () => {
  const place = placeOn(standIn);
  const source = new OCIBucketBackend(place);
  let state = AgentState.create();
  for (let count = 0; count < 20; count++) {
    state = state.withMessage(userMessage(`${count} ${"x".repeat(count === 4 ? 20_000 : 10)}`));
    await source.save(state, "source");
  }
  const random = seededRandom(seed);
  for (let round = 0; round < 12; round++) {
    const rivals = Array.from({ length: 4 }, async () => {
      const rival = new OCIBucketBackend(place);
      const turn = random.below(4);
      if (turn < 2) await rival.copyThread("source", "target").catch(ignoreConflict);
      else if (turn === 2) await rival.delete("target");
      else await rival.save(AgentState.create().withMessage(userMessage("new")), "target").catch(ignoreConflict);
    });
    await Promise.all(rivals);
    const messages = (await source.load("target"))?.messages.length ?? 0;
    expect([0, 1, 20], `round ${round}, HOLDFAST_SEED=${seed}`).toContain(messages);
    expect(await source.listCheckpoints("target", { limit: 100 })).toHaveLength(messages);
  }
  await source.delete("target");
  await source.delete("source");
  expect([...standIn.objects().keys()].filter((name) => name.startsWith(place.prefix))).toEqual([]);
});

const ignoreConflict = (error: unknown): void => {
  if (!StateError.is(error, "CONFLICT")) throw error;
};

test("of two appends at one place, one is made, though both push a page out before", async () => {
  const place = placeOn(standIn);
  const [one, other] = [new OciLog(logOptions(place)), new OciLog(logOptions(place))];
  let last = "";
  const append = (log: OciLog, seq: number, writeId: string) =>
    log.append("t", {
      expected: placeAt(seq - 1, "g", last),
      record: {
        seq,
        writeId,
        base: 1,
        head: seq,
        checkpointId: writeId,
        header: "{}",
        metadata: undefined,
        body: Buffer.alloc(20_000, writeId),
        words: undefined,
      },
    });
  for (let seq = 1; seq <= 34; seq++) {
    const outcomes = await Promise.all([append(one, seq, `one ${seq}`), append(other, seq, `other ${seq}`)]);
    expect(outcomes.filter(({ appended }) => appended)).toHaveLength(1);
    last = `${outcomes[0]?.appended === true ? "one" : "other"} ${seq}`;
  }
  const chain = await one.readTail("t");
  expect(chain?.records.map(({ seq }) => seq)).toEqual(Array.from({ length: 34 }, (_, index) => index + 1));
  for (const { writeId, body } of chain?.records ?? [])
    expect(Buffer.from(body)).toEqual(Buffer.alloc(20_000, writeId));
  const objects = [...standIn.objects().keys()].filter((name) => name.startsWith(place.prefix));
  // The document, two pages, and the bodies: nothing is left of the losers.
  expect(objects).toHaveLength(1 + 2 + 34);
});

test("four processes that increment one thread at once lose nothing", async () => {
  const programs = await Programs.compile();
  const directory = await mkdtemp(join(tmpdir(), "holdfast-oci-"));
  try {
    const configFile = await standIn.writeConfig(directory);
    const { namespace, endpoint } = standIn;
    const query = new URLSearchParams({ namespace, endpoint, configFile });
    const url = `oci://threads/processes?${query}`;
    expect(await race(programs, { url, processes: 4, increments: 10 })).toBeGreaterThan(0);
  } finally {
    await programs.dispose();
    await rm(directory, { recursive: true });
  }
});

/** `npm run test:chaos` cuts at every byte. */
const EVERY = 41;
const cuts = { every: EVERY, offset: seededRandom(seed).below(EVERY), onNewConnections: false };

test(`a save is applied once, at whatever byte of it the connection is cut (every ${EVERY}th from ${cuts.offset}, HOLDFAST_SEED=${seed})`, async () => {
  const report = await cutSaves(wiredBucket(standIn), cuts);
  console.log(`oci: ${report.cuts} cuts in saves, every ${EVERY}th byte; ${report.appliedUnseen} were written unseen`);
  expect(report.cuts).toBeGreaterThan(20);
  expect(report.failed).toBeGreaterThan(0);
});

test("a load gives the state or an error, at whatever byte of it the connection is cut", async () => {
  const report = await cutLoads(wiredBucket(standIn), cuts);
  expect(report.cuts).toBeGreaterThan(20);
  expect(report.failed).toBeGreaterThan(0);
});
