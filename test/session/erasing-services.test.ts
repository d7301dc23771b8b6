import { afterAll, describe, expect, test } from "vitest";
import { DynamodbCheckpointer } from "../../src/backends/dynamodb/index.ts";
import { dynamodbSource } from "../../src/backends/dynamodb/log.ts";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { mysqlCheckpointer, mysqlStore } from "../../src/backends/mysql/index.ts";
import { OCIBucketBackend, ociStore } from "../../src/backends/oci/index.ts";
import { ociBucketSource } from "../../src/backends/oci/log.ts";
import { optionsOfUrl } from "../../src/backends/opensearch/checkpointer.ts";
import { opensearchCheckpointer } from "../../src/backends/opensearch/index.ts";
import { OracleStore, oracleCheckpointer } from "../../src/backends/oracle/index.ts";
import { s3LogOptions } from "../../src/backends/s3/checkpointer.ts";
import { loadSdk } from "../../src/backends/s3/connect.ts";
import { S3BucketCheckpointer, type S3ClientShape, s3Store } from "../../src/backends/s3/index.ts";
import { s3BucketSource } from "../../src/backends/s3/log.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { Store } from "../../src/store/store.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { dynamodbPlace } from "../dynamodb/test-table.ts";
import { bucketOfTests, logOptions } from "../oci-stand-in/test-bucket.ts";
import { describeWithOracle } from "../oracle-stand-in/with-oracle.ts";
import { s3Place } from "../s3/test-bucket.ts";
import { mysqlPlace } from "../services/mysql-place.ts";
import { ownIndex } from "../services/opensearch-index.ts";
import { canHaveS3, HOW_TO_GET_S3, startS3 } from "../services/s3.ts";
import { describeWithService } from "../services/with-service.ts";
import { type Backends, erases, erasesEveryField, threadsOnly } from "./erasing-suite.ts";
import { fill, KEY, readableIn, userOf } from "./people.ts";
import { inBucket, inMysql, inPostgres, type StoredIn } from "./stored-in.ts";

/** Threads, items and user data in one place. */
const both = (
  checkpointer: Checkpointer,
  store: Store,
  storedIn: StoredIn | undefined,
  leave: () => Promise<void> = async () => undefined,
): Backends => ({
  checkpointer,
  store,
  users: store,
  ...(storedIn !== undefined && { storedIn }),
  dispose: async () => {
    await checkpointer.close();
    await store.close();
    await leave();
  },
});

const [PEOPLE, GONE] = [6, 2];

await describeWithService("opensearch", (url) => {
  const index = ownIndex(url);
  afterAll(index.remove);
  const create = async () => threadsOnly(opensearchCheckpointer(optionsOfUrl(index.namespace())));
  erases(create, PEOPLE, GONE);
  erasesEveryField(create);
});

describe("oci", async () => {
  const bucket = await bucketOfTests();
  afterAll(() => bucket.close());
  const create = async (): Promise<Backends> => {
    const { sealing: _, ...place } = bucket.emptyPlace();
    const { open } = ociBucketSource(logOptions(place));
    return both(new OCIBucketBackend(place), ociStore(place), inBucket(open, place.prefix));
  };
  erases(create, PEOPLE, GONE);
  erasesEveryField(create);
});

await describeWithService("s3", (url) => {
  const create = async (): Promise<Backends> => {
    const { sealing: _, ...place } = s3Place(url);
    const { open } = s3BucketSource(s3LogOptions(place));
    return both(new S3BucketCheckpointer(place), s3Store(place), inBucket(open, place.prefix));
  };
  erases(create, PEOPLE, GONE);
  erasesEveryField(create);
});

await describeWithService("dynamodb", (url) => {
  const create = async (): Promise<Backends> => {
    const place = dynamodbPlace(url);
    const { open, prefix } = dynamodbSource("a test", place);
    return { ...threadsOnly(new DynamodbCheckpointer(place)), storedIn: inBucket(open, prefix) };
  };
  erases(create, PEOPLE, GONE);
  erasesEveryField(create);
});

await describeWithService("mysql", (url) => {
  const create = async (): Promise<Backends> => {
    const place = await mysqlPlace(url);
    const options = { dsn: place.url };
    return both(mysqlCheckpointer(options), mysqlStore(options), inMysql(place), place.dispose);
  };
  erases(create, PEOPLE, GONE);
  erasesEveryField(create);
});

await describeWithOracle(({ options, behind }) => {
  const create = async (): Promise<Backends> => {
    const { sealing: _, ...items } = options();
    const storedIn = behind && inPostgres(behind.url, behind.schema);
    return both(oracleCheckpointer(options()), new OracleStore(items), storedIn);
  };
  erases(create, PEOPLE, GONE);
  erasesEveryField(create);
});

const hasS3 = await canHaveS3();
describe.skipIf(!hasS3)(`a bucket that keeps versions${hasS3 ? "" : `: ${HOW_TO_GET_S3}`}`, () => {
  test("older versions are deleted with the rest, and what may not be deleted is in the receipt", async () => {
    const server = await startS3({ keepsVersions: true });
    const place = s3Place(server.url);
    const sdk = (await loadSdk()) as Awaited<ReturnType<typeof loadSdk>> & {
      readonly PutBucketVersioningCommand: new (input: object) => object;
    };
    const { endpoint, credentials, bucketName } = place;
    const client = new sdk.S3Client({ endpoint, credentials, region: "us-east-1", forcePathStyle: true });
    const versioning = { Bucket: bucketName, VersioningConfiguration: { Status: "Enabled" } };
    await client.send(new sdk.PutBucketVersioningCommand(versioning));
    /** A user who may not delete versions, and later one who may not even list them. */
    let denied: readonly string[] = ["DeleteObjectCommand"];
    const limited: S3ClientShape = {
      send: async (command, options) => {
        const { VersionId } = (command as { input: { VersionId?: string } }).input;
        const name = command.constructor.name;
        const isDenied = denied.includes(name) && (VersionId !== undefined || name !== "DeleteObjectCommand");
        if (isDenied)
          throw Object.assign(new Error("denied"), { name: "AccessDenied", $metadata: { httpStatusCode: 403 } });
        return client.send(command, options);
      },
    };
    try {
      const { endpoint: _, credentials: __, ...without } = place;
      const own = new S3BucketCheckpointer({ ...without, client: limited as never });
      await fill(own, new InMemoryStore(), { set: async () => undefined }, 3);
      const data = new PersonalData({ checkpointers: [own], ledger: new InMemoryStore(), key: KEY });
      const first = await data.eraseUser(userOf(0));
      expect(first.places[0]?.remains[0]).toMatch(/^\d+ older versions of objects, which are locked or/);
      expect(await readableIn(server.folder, [0])).toEqual([0]);
      denied = ["ListObjectVersionsCommand"];
      const second = await data.eraseUser(userOf(0));
      expect(second.places[0]?.remains[0]).toMatch(/this user may not list them/);
      denied = [];
      const third = await data.eraseUser(userOf(1));
      expect(third.places[0]?.cleaned.join()).toMatch(/\d+ older versions of objects were deleted/);
      expect(await readableIn(server.folder, [0, 1])).toEqual([]);
      expect(await readableIn(server.folder, [2])).toEqual([2]);
      expect((await own.load("shared-0"))?.messages.length).toBeGreaterThan(0);
      await own.close();
    } finally {
      client.destroy?.();
      await server.stop();
    }
  });
});
