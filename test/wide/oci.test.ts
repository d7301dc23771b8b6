import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import * as common from "oci-common";
import * as objectStorage from "oci-objectstorage";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { OCIBucketBackend, ociBucketCheckpointer, ociLifecyclePolicy } from "../../src/backends/oci/index.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { failureOf } from "../failure-of.ts";
import { filledLog } from "../oci-stand-in/filled-log.ts";
import { ONCE, saying, standInForEachTest } from "../oci-stand-in/for-each-test.ts";

const oci = standInForEachTest();

describe("the bucket", () => {
  test("is created in the given compartment on first use", async () => {
    const subject = oci.open({ bucketName: "fresh", compartmentId: oci.standIn.compartmentId });
    expect(await subject.load("t")).toBeUndefined();
    expect(oci.standIn.hasBucket("fresh")).toBe(true);
    await subject.save(saying("hello"), "t");
    expect(oci.standIn.objects("fresh").size).toBe(1);
  });

  test("is not created without a compartment: the error says what to do", async () => {
    const failure = await failureOf(() => oci.open({ bucketName: "fresh" }).load("t"));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(failure.message).toMatch(
      'there is no bucket "fresh" in the namespace "standin"; create it, or say in which',
    );
    expect(oci.standIn.hasBucket("fresh")).toBe(false);
  });

  test("its namespace is looked up once if it is not given", async () => {
    const { namespace: _, ...rest } = oci.place;
    const subject = new OCIBucketBackend(rest);
    await subject.save(saying("hello"), "t");
    await subject.load("t");
    expect(oci.standIn.requests.map(({ kind }) => kind)).toEqual(["namespace", "put object", "get object"]);
  });
});

describe("who signs", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "holdfast-oci-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  test("a key of the config file", async () => {
    const configFile = await oci.standIn.writeConfig(directory);
    await oci.open({ auth: "config-file", configFile }).save(saying("hello"), "t");
    expect(oci.names()).toEqual(["prod/threads/t"]);
  });

  test("a session token", async () => {
    const configFile = await oci.standIn.writeConfig(directory, "a-token");
    oci.standIn.keyId = "ST$a-token";
    await oci.open({ auth: "session-token", configFile }).save(saying("hello"), "t");
    expect(oci.names()).toEqual(["prod/threads/t"]);
  });

  test("a client that was handed in, which stays open", async () => {
    const { tenancy, user, fingerprint, privateKey } = oci.standIn.user;
    const authenticationDetailsProvider = new common.SimpleAuthenticationDetailsProvider(
      tenancy,
      user,
      fingerprint,
      privateKey,
      null,
    );
    const client = new objectStorage.ObjectStorageClient({ authenticationDetailsProvider });
    client.endpoint = oci.standIn.endpoint;
    const close = vi.spyOn(client, "close");
    const { endpoint: _, auth: __, ...rest } = oci.place;
    const subject = new OCIBucketBackend({ ...rest, client });
    await subject.save(saying("hello"), "t");
    expect((await subject.load("t"))?.messages).toHaveLength(1);
    await subject.close();
    expect(close).not.toHaveBeenCalled();
    await oci.standIn.close();
    const again = new OCIBucketBackend({ ...rest, ...ONCE, client });
    expect(await failureOf(() => again.load("t"))).toMatchObject({ code: "UNAVAILABLE" });
    client.close();
  });

  test("a missing config file is PERMISSION_DENIED and says which kind was tried", async () => {
    const failure = await failureOf(() =>
      oci.open({ ...ONCE, auth: "config-file", configFile: join(directory, "none") }).load("t"),
    );
    expect(failure).toMatchObject({ code: "PERMISSION_DENIED" });
    expect(failure.message).toMatch('no credentials of the kind "config-file"');
  });

  test("a malformed key is INVALID_ARGUMENT, and no error shows it", async () => {
    const secret = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0LWtleS1tYXRlcmlhbA==\n-----END PRIVATE KEY-----";
    const auth = { ...oci.standIn.auth, getPrivateKey: () => secret };
    const failure = await failureOf(() => oci.open({ ...ONCE, auth }).load("t"));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(inspect(failure, { depth: 10 })).not.toMatch("c2VjcmV0");
  });

  test("a missing resource principal is reported as such", async () => {
    expect(await failureOf(() => oci.open({ ...ONCE, auth: "resource-principal" }).load("t"))).toMatchObject({
      code: "PERMISSION_DENIED",
    });
  });
});

describe("opening", () => {
  test("by URL, with everything that a deployment needs", async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-oci-"));
    const configFile = await oci.standIn.writeConfig(directory);
    const query = new URLSearchParams({
      namespace: "standin",
      region: "eu-frankfurt-1",
      endpoint: oci.standIn.endpoint,
      configFile,
    });
    await using subject = await openCheckpointer(`oci://threads/teams/a?${query}`);
    await subject.save(saying("hello"), "t");
    expect(oci.names()).toEqual(["teams/a/threads/t"]);
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
    expect(oci.open().capabilities).toMatchObject({ durability: "replicated", ttl: false, listThreads: true });
  });
});

test("the lifecycle rule names the documents of threads, and nothing that a thread in use needs", async () => {
  await filledLog(oci.place, "t", 40);
  const { items } = ociLifecyclePolicy({ deleteAfterIdleDays: 90, prefix: "prod" });
  expect(items).toMatchObject([
    { action: "DELETE", timeAmount: 90, timeUnit: "DAYS", isEnabled: true, target: "objects" },
  ]);
  const [prefix = ""] = items[0]?.objectNameFilter.inclusionPrefixes ?? [];
  expect(oci.names().filter((name) => name.startsWith(prefix))).toEqual(["prod/threads/t"]);
  oci.standIn.objects().delete("prod/threads/t");
  const subject = oci.open();
  expect(await subject.load("t")).toBeUndefined();
  await subject.removeLeftovers();
  expect(oci.names()).toEqual([]);
  expect(() => ociLifecyclePolicy({ deleteAfterIdleDays: 0 })).toThrow("deleteAfterIdleDays");
});
