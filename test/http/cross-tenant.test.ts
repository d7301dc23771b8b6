import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { mysqlCheckpointer } from "../../src/backends/mysql/index.ts";
import { OCIBucketBackend } from "../../src/backends/oci/index.ts";
import { optionsOfUrl } from "../../src/backends/opensearch/checkpointer.ts";
import { opensearchCheckpointer } from "../../src/backends/opensearch/index.ts";
import { redisCheckpointer } from "../../src/backends/redis/index.ts";
import { s3BucketCheckpointer } from "../../src/backends/s3/index.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { AppendOutcome, AppendRequest } from "../../src/checkpoint/log/thread-log.ts";
import { markAt, placeAt, recordAt, requestFor } from "../../src/testing/thread-log-cases/sample-records.ts";
import { SCOPES, type Scope } from "../../src/wire/protocol.ts";
import { LOCAL_BACKENDS } from "../local-backends.ts";
import { bucketOfTests, type TestBucket } from "../oci-stand-in/test-bucket.ts";
import { runs } from "../property-seed.ts";
import { s3Place } from "../s3/test-bucket.ts";
import { mysqlPlace } from "../services/mysql-place.ts";
import { ownIndex } from "../services/opensearch-index.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { describeWithService } from "../services/with-service.ts";
import { assertTenantsApart, TwoTenants } from "./two-tenants.ts";

const WRITER: readonly Scope[] = ["threads:read", "threads:write"];
const ATTACKERS = [
  { may: "read and write", scopes: WRITER },
  { may: "do everything", scopes: SCOPES },
];

/** The tests of one backend. `open` gives a fresh store each time. */
function testTenantsOn(
  open: () => Promise<{ checkpointer: Checkpointer; cleanup: () => Promise<void> }>,
  many: number,
) {
  test.each(ATTACKERS)(
    "no append of a tenant that may $may reads or changes a byte of another tenant's",
    async ({ scopes }) => {
      const { checkpointer, cleanup } = await open();
      const tenants = await TwoTenants.on(checkpointer, scopes);
      await assertTenantsApart(tenants, runs(many));
      await tenants.close();
      await cleanup();
    },
  );
}

describe.each(LOCAL_BACKENDS)("$name", ({ create }) => {
  testTenantsOn(async () => {
    const storage = await create();
    return { checkpointer: storage.open(), cleanup: storage.dispose };
  }, 40);
});

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  afterAll(place.dispose);
  testTenantsOn(async () => {
    const checkpointer = place.open({ dsn: url, tablePrefix: place.prefix() });
    return { checkpointer, cleanup: async () => undefined };
  }, 12);
});

await describeWithService("mysql", async (url) => {
  const place = await mysqlPlace(url);
  afterAll(place.dispose);
  testTenantsOn(async () => {
    const checkpointer = mysqlCheckpointer({ dsn: place.url, tablePrefix: place.prefix() });
    return { checkpointer, cleanup: () => checkpointer.close() };
  }, 12);
});

await describeWithService("redis", (url) => {
  testTenantsOn(async () => {
    const prefix = `tenants-${Math.random().toString(36).slice(2)}`;
    const checkpointer = redisCheckpointer({ url, prefix });
    return { checkpointer, cleanup: () => checkpointer.close() };
  }, 12);
});

await describeWithService("opensearch", (url) => {
  const index = ownIndex(url);
  afterAll(index.remove);
  testTenantsOn(async () => {
    const checkpointer = opensearchCheckpointer(optionsOfUrl(index.namespace()));
    return { checkpointer, cleanup: () => checkpointer.close() };
  }, 5);
});

await describeWithService("s3", (url) => {
  testTenantsOn(async () => {
    const checkpointer = s3BucketCheckpointer(s3Place(url));
    return { checkpointer, cleanup: () => checkpointer.close() };
  }, 5);
});

describe("oci", () => {
  let bucket: TestBucket;
  beforeAll(async () => {
    bucket = await bucketOfTests();
  });
  afterAll(() => bucket.close());
  testTenantsOn(async () => {
    const place = bucket.emptyPlace();
    const checkpointer = new OCIBucketBackend(place);
    return { checkpointer, cleanup: () => checkpointer.close().then(() => bucket.clear(place.prefix)) };
  }, 5);
});

/** Believes every number it is given, as a driver does whose keys join a thread's number and a position. */
class CredulousLog extends MemoryLog {
  readonly strays: AppendRequest[] = [];

  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    const { record, replace = [], drop = [], dropBelow = 1, expected } = request;
    const numbers = [record, ...replace].flatMap(({ seq, base, head }) => [seq, base, head]).concat(drop, dropBelow);
    if (numbers.every((number) => number >= 0 && number <= expected.seq + 1)) return super.append(threadId, request);
    this.strays.push(request);
    for (const tenant of ["before", "after"]) await this.remove(`${tenant}/t`);
    return { appended: true };
  }
}

describe("a driver that believes every number", () => {
  test("is never given one that points outside the tenant's thread", async () => {
    const log = new CredulousLog();
    const checkpointer = new Checkpointer(log);
    const tenants = await TwoTenants.on(checkpointer, SCOPES);
    await assertTenantsApart(tenants, runs(60));
    expect(log.strays).toEqual([]);
    await tenants.close();
    await checkpointer.close();
  });

  test("loses other tenants' threads when such a number reaches it", async () => {
    const log = new CredulousLog();
    await log.append("before/t", requestFor(recordAt(1)));
    await log.append("attacker/t", requestFor(markAt(1, { head: 2 ** 26 + 1 })));
    expect(await log.tail("before/t")).toBeUndefined();
  });
});

test.each([
  ["head", { record: markAt(4, { head: 2 ** 26 + 1 }) }],
  ["base", { record: recordAt(4, { base: 2 ** 26 + 1 }) }],
  ["base above seq", { record: recordAt(4, { base: 5 }) }],
  ["drop", { record: markAt(4, { head: 3 }), drop: [2 ** 26 + 1] }],
  ["dropBelow", { record: recordAt(4), dropBelow: 2 ** 52 }],
  ["replace", { record: markAt(4, { head: 3 }), replace: [recordAt(2 ** 26 + 1)] }],
])("an append whose %s points outside the thread is refused with 400 before the log is asked", async (_, fields) => {
  const log = new CredulousLog();
  const checkpointer = new Checkpointer(log);
  const tenants = await TwoTenants.on(checkpointer, SCOPES);
  const answer = await tenants.attack({ kind: "append", request: { expected: placeAt(3), ...fields } });
  expect([answer.status, JSON.parse(answer.body)]).toMatchObject([400, { code: "INVALID_ARGUMENT" }]);
  expect(answer.body, "it is about the request, and no failure of the service").not.toContain("instance");
  expect(log.strays).toEqual([]);
  await tenants.close();
});
