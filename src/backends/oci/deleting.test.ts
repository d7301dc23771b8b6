import { describe, expect, test } from "vitest";
import { filledLog, sampleRecord } from "../../../test/oci-stand-in/filled-log.ts";
import { standInForEachTest } from "../../../test/oci-stand-in/for-each-test.ts";
import { logOptions } from "../../../test/oci-stand-in/test-bucket.ts";
import { AgentState } from "../../state/agent-state.ts";
import { placeAt } from "../../testing/thread-log-cases/sample-records.ts";
import { OciLog } from "./log.ts";

const oci = standInForEachTest();

describe("deleting", () => {
  test("a thread of 2,500 checkpoints leaves no object behind", async () => {
    const log = await filledLog(oci.place, "t", 2500);
    expect(oci.names().length).toBeGreaterThan(1);
    expect(await log.remove("t")).toBe("removed");
    expect(oci.names()).toEqual([]);
  });

  test("`org`, `org/alice`, `..` and `%2e%2e` never touch each other", async () => {
    const ids = ["org", "org/", "org/alice", "org~2Falice", "..", ".", "%2e%2e", "%2E%2E", "../org", "org%2Falice"];
    const log = new OciLog(logOptions(oci.place));
    for (const id of ids)
      for (let seq = 1; seq <= 17; seq++)
        await log.append(id, { expected: placeAt(seq - 1, id), record: sampleRecord(seq) });
    for (const [index, id] of ids.entries()) {
      expect(await log.remove(id)).toBe("removed");
      for (const other of ids.slice(index + 1)) expect((await log.readTail(other))?.records).toHaveLength(11);
    }
    expect(oci.names()).toEqual([]);
  });

  test("a deleted checkpoint is gone from the bucket, byte for byte", async () => {
    const subject = oci.open();
    const ids: string[] = [];
    let state = AgentState.create();
    for (let count = 0; count < 20; count++) {
      state = state.withMetadata({ secret: count === 7 ? "canary-in-a-coal-mine" : `nothing ${count}` });
      ids.push(await subject.save(state, "t"));
    }
    const holdsCanary = (): boolean =>
      [...oci.standIn.objects().values()].some(({ bytes }) => bytes.includes("canary-in"));
    expect(holdsCanary()).toBe(true);
    await subject.delete("t", { checkpointId: ids[7]! });
    expect(holdsCanary()).toBe(false);
    expect(await subject.listCheckpoints("t", { limit: 100 })).toHaveLength(19);
  });

  test("when several processes remove one thread at once, one reports that it did", async () => {
    const log = await filledLog(oci.place, "t", 20);
    const other = new OciLog(logOptions(oci.place));
    const outcomes = await Promise.all([log, log, other, other].map((remover) => remover.remove("t")));
    expect(outcomes.toSorted()).toEqual(["absent", "absent", "absent", "removed"]);
    expect(oci.names()).toEqual([]);
  });

  test("a writer that comes after the deletion is refused and leaves nothing", async () => {
    const late = await filledLog(oci.place, "t", 16);
    const other = new OciLog(logOptions(oci.place));
    expect(await other.remove("t")).toBe("removed");
    const request = { expected: placeAt(16, "g"), record: { ...sampleRecord(17), body: Buffer.alloc(50_000) } };
    expect(await late.append("t", request)).toMatchObject({ appended: false, tail: undefined });
    expect(oci.names()).toEqual([]);
  });

  test("removeLeftovers removes what a process left that died midway, and nothing else", async () => {
    await filledLog(oci.place, "kept", 40);
    const log = await filledLog(oci.place, "ended", 40);
    const before = new Map(oci.standIn.objects());
    await log.remove("ended");
    const kept = oci.names();
    for (const [name, object] of before) if (name.includes("records/ended/")) oci.standIn.objects().set(name, object);
    expect(oci.names().length).toBeGreaterThan(kept.length);
    const subject = oci.open();
    await subject.removeLeftovers();
    expect(oci.names()).toEqual(kept);
  });
});
