import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as common from "oci-common";
import * as objectStorage from "oci-objectstorage";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { OciStandIn } from "../../../test/oci-stand-in/stand-in.ts";
import { logOptions, placeOn, type TestPlace } from "../../../test/oci-stand-in/test-bucket.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { openCheckpointer } from "../open.ts";
import { OCIBucketBackend, OciLog, ociBucketCheckpointer, ociLifecyclePolicy } from "./index.ts";

let standIn: OciStandIn;
let place: TestPlace;
beforeEach(async () => {
  standIn = await OciStandIn.start({ mostListed: 100 });
  place = placeOn(standIn, "prod/");
});
afterEach(() => standIn.close());

const ONCE = { retry: { attempts: 1 } };
const open = (options: object = {}): OCIBucketBackend => new OCIBucketBackend({ ...place, ...options });
const saying = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));
const names = (): readonly string[] => [...standIn.objects().keys()].sort();
const record = (seq: number) => ({
  seq,
  writeId: `write ${seq}`,
  base: Math.max(1, seq - 10),
  head: seq,
  checkpointId: `checkpoint ${seq}`,
  header: "{}",
  metadata: undefined,
  body: Buffer.from(`body ${seq}`),
  words: undefined,
});

async function filled(threadId: string, count: number): Promise<OciLog> {
  const log = new OciLog(logOptions(place));
  for (let seq = 1; seq <= count; seq++) {
    expect(await log.append(threadId, { generation: "g", expected: seq - 1, record: record(seq) })).toEqual({
      appended: true,
    });
  }
  return log;
}

describe("errors", () => {
  test.each([
    [503, "ServiceUnavailable", "UNAVAILABLE"],
    [500, "InternalServerError", "UNAVAILABLE"],
    [409, "ConcurrentObjectUpdate", "UNAVAILABLE"],
    [429, "TooManyRequests", "RATE_LIMITED"],
    [401, "NotAuthenticated", "PERMISSION_DENIED"],
    [403, "NotAllowed", "PERMISSION_DENIED"],
    [404, "NotAuthorizedOrNotFound", "PERMISSION_DENIED"],
    [404, "NamespaceNotFound", "INVALID_ARGUMENT"],
    [404, "BucketNotFound", "INVALID_ARGUMENT"],
    [400, "QuotaExceeded", "STORAGE_FULL"],
    [413, "RequestEntityTooLarge", "TOO_LARGE"],
  ])('%i %s is %s, for a load as for a save, and never "no state"', async (status, code, expected) => {
    const subject = open(ONCE);
    await subject.save(saying("hello"), "t");
    standIn.faultAt = () => ({ when: "before", answer: { status, code } });
    for (const call of [
      () => subject.load("t"),
      () => subject.exists("t"),
      () => subject.listThreads(),
      () => subject.save(saying("x"), "u"),
    ]) {
      expect(await failureOf(call)).toMatchObject({ code: expected, context: { backend: "oci" } });
    }
    expect((await failureOf(() => subject.load("t"))).message).toMatch(/^oci: load failed for thread "t": /);
  });

  test("a server that is not there is UNAVAILABLE, and the message says why", async () => {
    const gone = await OciStandIn.start();
    const { endpoint } = gone;
    await gone.close();
    const subject = open({ ...ONCE, endpoint });
    expect(await failureOf(() => subject.load("t"))).toMatchObject({
      code: "UNAVAILABLE",
      message: 'oci: load failed for thread "t": the connection failed: ECONNREFUSED',
    });
  });

  test("a server that does not answer is TIMEOUT after the time that was given", async () => {
    const subject = open({ ...ONCE, requestTimeoutMs: 50 });
    standIn.faultAt = () => ({ when: "before", answer: "silence" });
    expect(await failureOf(() => subject.load("t"))).toMatchObject({
      code: "TIMEOUT",
      message: 'oci: load failed for thread "t": no answer within 50 ms',
    });
  });

  test("a wrong signature is refused by the stand-in, as PERMISSION_DENIED", async () => {
    const other = await OciStandIn.start();
    await other.close();
    const { auth } = other;
    expect(await failureOf(() => open({ ...ONCE, auth }).load("t"))).toMatchObject({
      code: "PERMISSION_DENIED",
      message: expect.stringContaining("the signature is not that of the request"),
    });
  });

  test("nothing is written to the console, also where the service refuses", async () => {
    const spies = (["warn", "error", "log"] as const).map((method) => vi.spyOn(console, method));
    const [one, other] = [open(), open()];
    await one.load("absent");
    await one.save(saying("1"), "t");
    expect(await failureOf(() => other.save(saying("2"), "t"))).toMatchObject({ code: "CONFLICT" });
    for (const spy of spies) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
  });

  test("an object that was changed is CORRUPT and named; one of a newer version INCOMPATIBLE", async () => {
    const subject = open();
    await subject.save(saying("hello"), "t");
    const [name = ""] = names();
    const { bytes, etag } = standIn.objects().get(name)!;
    const at = bytes.indexOf('"threadId"') + 3;
    const changed = Buffer.from(bytes);
    changed[at] = 0x58;
    standIn.objects().set(name, { etag, bytes: changed });
    expect(await failureOf(() => subject.load("t"))).toMatchObject({ code: "CORRUPT", context: { location: name } });
    standIn.objects().set(name, {
      etag,
      bytes: Buffer.from(bytes.toString("latin1").replace("holdfast-oci 1", "holdfast-oci 2"), "latin1"),
    });
    expect(await failureOf(() => subject.load("t"))).toMatchObject({
      code: "INCOMPATIBLE",
      context: { location: name },
    });
    standIn.objects().set(name.replace(/t$/, "u"), { etag, bytes });
    expect(await failureOf(() => subject.load("u"))).toMatchObject({ code: "CORRUPT" });
    standIn.objects().set(name, { etag, bytes: changed });
    for (const threadId of ["t", "u"]) expect(await subject.delete(threadId)).toBe(true);
    expect(names()).toEqual([]);
  });

  test("a page that is missing is CORRUPT and named, and not a shorter history", async () => {
    const log = await filled("t", 40);
    const page = names().find((name) => name.endsWith("0000000001.page"))!;
    standIn.objects().delete(page);
    const fresh = new OciLog(logOptions(place));
    const failure = await fresh.list("t", { limit: 100 }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "CORRUPT", context: { location: page } });
    await log.close();
  });
});

describe("deleting", () => {
  test("a thread of 2,500 checkpoints leaves no object behind, though a listing shows a hundred at a time", async () => {
    const log = await filled("t", 2500);
    expect(names().length).toBe(1 + Math.floor(2499 / 16));
    expect(await log.remove("t")).toBe("removed");
    expect(names()).toEqual([]);
  }, 240_000);

  test("`org`, `org/alice`, `..` and `%2e%2e` never touch each other", async () => {
    const ids = ["org", "org/", "org/alice", "org~2Falice", "..", ".", "%2e%2e", "%2E%2E", "../org", "org%2Falice"];
    const log = new OciLog(logOptions(place));
    for (const id of ids)
      for (let seq = 1; seq <= 17; seq++)
        await log.append(id, { generation: id, expected: seq - 1, record: record(seq) });
    for (const [index, id] of ids.entries()) {
      expect(await log.remove(id)).toBe("removed");
      for (const other of ids.slice(index + 1)) expect((await log.readTail(other))?.records).toHaveLength(11);
    }
    expect(names()).toEqual([]);
  }, 120_000);

  test("a deleted checkpoint is gone from the bucket, byte for byte", async () => {
    const subject = open();
    const ids: string[] = [];
    let state = AgentState.create();
    for (let count = 0; count < 20; count++) {
      state = state.withMetadata({ secret: count === 7 ? "canary-in-a-coal-mine" : `nothing ${count}` });
      ids.push(await subject.save(state, "t"));
    }
    const holdsCanary = (): boolean => [...standIn.objects().values()].some(({ bytes }) => bytes.includes("canary-in"));
    expect(holdsCanary()).toBe(true);
    await subject.delete("t", { checkpointId: ids[7]! });
    expect(holdsCanary()).toBe(false);
    expect(await subject.listCheckpoints("t", { limit: 100 })).toHaveLength(19);
  });

  test("a writer that comes after the deletion is refused and leaves nothing", async () => {
    const late = await filled("t", 16);
    const other = new OciLog(logOptions(place));
    expect(await other.remove("t")).toBe("removed");
    const request = { generation: "g", expected: 16, record: { ...record(17), body: Buffer.alloc(50_000) } };
    expect(await late.append("t", request)).toMatchObject({ appended: false, tail: undefined });
    expect(names()).toEqual([]);
  });

  test("what a process left that died in the middle goes with removeLeftovers, and nothing else does", async () => {
    await filled("kept", 40);
    const log = await filled("ended", 40);
    const before = new Map(standIn.objects());
    await log.remove("ended");
    const kept = names();
    for (const [name, object] of before) if (name.includes("records/ended/")) standIn.objects().set(name, object);
    expect(names().length).toBeGreaterThan(kept.length);
    const subject = open();
    await subject.removeLeftovers();
    expect(names()).toEqual(kept);
  });
});

describe("the bucket", () => {
  test("is made in the compartment that is given, when it is first needed", async () => {
    const subject = open({ bucketName: "fresh", compartmentId: standIn.compartmentId });
    expect(await subject.load("t")).toBeUndefined();
    expect(standIn.hasBucket("fresh")).toBe(true);
    await subject.save(saying("hello"), "t");
    expect(standIn.objects("fresh").size).toBe(1);
  });

  test("is not made without a compartment: the error says what to do", async () => {
    const failure = await failureOf(() => open({ bucketName: "fresh" }).load("t"));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(failure.message).toMatch(
      'there is no bucket "fresh" in the namespace "standin"; create it, or say in which',
    );
    expect(standIn.hasBucket("fresh")).toBe(false);
  });

  test("its namespace is asked for once where it is not given", async () => {
    const { namespace: _, ...rest } = place;
    const subject = new OCIBucketBackend(rest);
    await subject.save(saying("hello"), "t");
    await subject.load("t");
    expect(standIn.requests.map(({ kind }) => kind)).toEqual(["namespace", "put object", "get object"]);
  });
});

describe("who signs", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "holdfast-oci-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  test("a key of the config file", async () => {
    const configFile = await standIn.writeConfig(directory);
    await open({ auth: "config-file", configFile }).save(saying("hello"), "t");
    expect(names()).toEqual(["prod/threads/t"]);
  });

  test("a session token", async () => {
    const configFile = await standIn.writeConfig(directory, "a-token");
    standIn.keyId = "ST$a-token";
    await open({ auth: "session-token", configFile }).save(saying("hello"), "t");
    expect(names()).toEqual(["prod/threads/t"]);
  });

  test("a client of one's own, which stays open", async () => {
    const { tenancy, user, fingerprint, privateKey } = standIn.user;
    const authenticationDetailsProvider = new common.SimpleAuthenticationDetailsProvider(
      tenancy,
      user,
      fingerprint,
      privateKey,
      null,
    );
    const client = new objectStorage.ObjectStorageClient({ authenticationDetailsProvider });
    client.endpoint = standIn.endpoint;
    const close = vi.spyOn(client, "close");
    const { endpoint: _, auth: __, ...rest } = place;
    const subject = new OCIBucketBackend({ ...rest, client });
    await subject.save(saying("hello"), "t");
    expect((await subject.load("t"))?.messages).toHaveLength(1);
    await subject.close();
    expect(close).not.toHaveBeenCalled();
    client.close();
  });

  test("a config file that is not there is PERMISSION_DENIED and says which kind was tried", async () => {
    const failure = await failureOf(() =>
      open({ ...ONCE, auth: "config-file", configFile: join(directory, "none") }).load("t"),
    );
    expect(failure).toMatchObject({ code: "PERMISSION_DENIED" });
    expect(failure.message).toMatch('no credentials of the kind "config-file"');
  });

  test("a function without a resource principal is told so", async () => {
    expect(await failureOf(() => open({ ...ONCE, auth: "resource-principal" }).load("t"))).toMatchObject({
      code: "PERMISSION_DENIED",
    });
  });
});

describe("opening", () => {
  test("by URL, with everything that a deployment needs", async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-oci-"));
    const configFile = await standIn.writeConfig(directory);
    const query = new URLSearchParams({
      namespace: "standin",
      region: "eu-frankfurt-1",
      endpoint: standIn.endpoint,
      configFile,
    });
    await using subject = await openCheckpointer(`oci://threads/teams/a?${query}`);
    await subject.save(saying("hello"), "t");
    expect(names()).toEqual(["teams/a/threads/t"]);
    await rm(directory, { recursive: true });
  });

  test.each([
    ["oci:", "needs a bucket"],
    ["oci:///prod", "needs a bucket"],
    ["oci://b/p?regoin=x", 'unknown parameter "regoin"'],
    ["oci://b/p?auth=magic", "auth must be one of config-file"],
    ["oci://b/a b", 'the option "prefix" takes letters'],
  ])("%s is INVALID_ARGUMENT", async (url, message) => {
    expect(await failureOf(() => openCheckpointer(url))).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(message),
    });
  });

  test("an option that does not exist, or a bucket without a name, is refused at once", () => {
    expect(() => ociBucketCheckpointer({ bucketname: "b" } as never)).toThrow('has no option "bucketname"');
    expect(() => ociBucketCheckpointer({ bucketName: "" })).toThrow('"bucketName" must be the name of a bucket');
  });

  test("says how far a save can be trusted", () => {
    expect(open().capabilities).toMatchObject({ durability: "replicated", ttl: false, listThreads: true });
  });
});

test("the lifecycle rule names the documents of threads, and nothing that a thread in use needs", async () => {
  await filled("t", 40);
  const { items } = ociLifecyclePolicy({ deleteAfterIdleDays: 90, prefix: "prod" });
  expect(items).toMatchObject([
    { action: "DELETE", timeAmount: 90, timeUnit: "DAYS", isEnabled: true, target: "objects" },
  ]);
  const [prefix = ""] = items[0]?.objectNameFilter.inclusionPrefixes ?? [];
  expect(names().filter((name) => name.startsWith(prefix))).toEqual(["prod/threads/t"]);
  standIn.objects().delete("prod/threads/t");
  const subject = open();
  expect(await subject.load("t")).toBeUndefined();
  await subject.removeLeftovers();
  expect(names()).toEqual([]);
  expect(() => ociLifecyclePolicy({ deleteAfterIdleDays: 0 })).toThrow("deleteAfterIdleDays");
});
