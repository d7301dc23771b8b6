import { afterAll, describe, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { OCIBucketBackend } from "../../src/backends/oci/index.ts";
import { optionsOfUrl } from "../../src/backends/opensearch/checkpointer.ts";
import { opensearchCheckpointer } from "../../src/backends/opensearch/index.ts";
import { oracleCheckpointer } from "../../src/backends/oracle/index.ts";
import { loadSdk } from "../../src/backends/s3/connect.ts";
import { S3BucketCheckpointer, type S3ClientShape } from "../../src/backends/s3/index.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { bucketOfTests } from "../oci-stand-in/test-bucket.ts";
import { describeWithOracle } from "../oracle-stand-in/with-oracle.ts";
import { s3Place } from "../s3/test-bucket.ts";
import { ownIndex } from "../services/opensearch-index.ts";
import { canHaveS3, HOW_TO_GET_S3, startS3 } from "../services/s3.ts";
import { describeWithService } from "../services/with-service.ts";
import { erases, erasesEveryField, threadsOnly } from "./erasing-suite.ts";
import { fill, KEY, readableIn, userOf } from "./people.ts";

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
  const create = async () => threadsOnly(new OCIBucketBackend(bucket.emptyPlace()));
  erases(create, PEOPLE, GONE);
  erasesEveryField(create);
});

await describeWithService("s3", (url) => {
  const create = async () => threadsOnly(new S3BucketCheckpointer(s3Place(url)));
  erases(create, PEOPLE, GONE);
  erasesEveryField(create);
});

await describeWithOracle(({ options }) => {
  const create = async () => threadsOnly(oracleCheckpointer(options()));
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
