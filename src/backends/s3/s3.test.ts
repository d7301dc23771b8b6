import { describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { cutLoads, cutSaves } from "../../../test/network/wire-cuts.ts";
import { Programs } from "../../../test/processes/programs.ts";
import { race } from "../../../test/processes/racing-writers.ts";
import { seededRandom } from "../../../test/processes/seeded-random.ts";
import { seed } from "../../../test/property-seed.ts";
import { s3Place, s3Url, wiredS3 } from "../../../test/s3/test-bucket.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { openCheckpointer } from "../open.ts";
import { S3BucketCheckpointer, s3BucketCheckpointer } from "./index.ts";

const saying = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));
const quickly = { retry: { attempts: 1 } };

describe("options", () => {
  test("a URL names the bucket, and keys in it are refused without being shown", async () => {
    await expect(openCheckpointer("s3://")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    const failure = await openCheckpointer("s3://AKIA123:very-secret@bucket/prod").catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(String(failure)).not.toContain("very-secret");
    await expect(openCheckpointer("s3://bucket/prod?regoin=eu-central-1")).rejects.toThrow(
      'unknown parameter "regoin"',
    );
    await expect(openCheckpointer("s3://bucket?forcePathStyle=yes")).rejects.toThrow("must be true or false");
  });

  test("a directory bucket, which lists in no order, is refused", () => {
    expect(() => s3BucketCheckpointer({ bucketName: "fast--euc1-az1--x-s3" })).toThrow("general purpose bucket");
  });

  test("behind an endpoint no durability is promised that cannot be known", () => {
    expect(s3BucketCheckpointer({ bucketName: "b" }).capabilities.durability).toBe("replicated");
    const endpoint = "http://127.0.0.1:9";
    expect(s3BucketCheckpointer({ bucketName: "b", endpoint }).capabilities.durability).toBe("os");
    const told = s3BucketCheckpointer({ bucketName: "b", endpoint, serverDurability: "fsync" });
    expect(told.capabilities.durability).toBe("fsync");
  });

  test("a server that is away is UNAVAILABLE, and not an empty store", async () => {
    const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
    const subject = s3BucketCheckpointer({ bucketName: "b", endpoint: "http://127.0.0.1:9", credentials, ...quickly });
    expect(await failureOf(() => subject.load("t"))).toMatchObject({ code: "UNAVAILABLE" });
    expect(await failureOf(() => subject.listThreads())).toMatchObject({ code: "UNAVAILABLE" });
    await subject.close();
  });
});

await describeWithService("s3", (server) => {
  test("a bucket that is not there and keys that are wrong are errors that show no secret", async () => {
    const place = s3Place(server);
    const elsewhere = new S3BucketCheckpointer({ ...place, ...quickly, bucketName: "no-such-bucket" });
    expect(await failureOf(() => elsewhere.load("t"))).toMatchObject({ code: "INVALID_ARGUMENT" });
    const secretAccessKey = "wrong-and-secret";
    const stranger = new S3BucketCheckpointer({
      ...place,
      ...quickly,
      credentials: { accessKeyId: place.credentials?.accessKeyId ?? "", secretAccessKey },
    });
    const refused = await failureOf(() => stranger.load("t"));
    expect(refused).toMatchObject({ code: "PERMISSION_DENIED" });
    expect(JSON.stringify(refused) + String(refused)).not.toContain(secretAccessKey);
  });

  test("a deleted thread leaves no object behind", async () => {
    const place = s3Place(server);
    const subject = new S3BucketCheckpointer(place);
    let state = saying("first");
    for (let count = 0; count < 40; count++) {
      await subject.save(state, "t");
      state = state.withMessage(userMessage(count === 7 ? "x".repeat(50_000) : `message ${count}`));
    }
    expect(await subject.delete("t")).toBe(true);
    await subject.removeLeftovers();
    const { S3Client, ListObjectsV2Command } = await import("@aws-sdk/client-s3");
    const { endpoint = "", credentials = { accessKeyId: "", secretAccessKey: "" }, bucketName: Bucket, prefix } = place;
    const client = new S3Client({ endpoint, credentials, region: "us-east-1", forcePathStyle: true });
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix: prefix }));
    client.destroy();
    expect(Contents.map(({ Key }) => Key)).toEqual([]);
  });

  test("four processes that increment one thread at once lose nothing", async () => {
    const programs = await Programs.compile();
    const { url, environment } = s3Url(server);
    Object.assign(process.env, environment);
    try {
      expect(await race(programs, { url, processes: 4, increments: 10 })).toBeGreaterThan(0);
    } finally {
      for (const name of Object.keys(environment)) delete process.env[name];
      await programs.dispose();
    }
  });

  /** `npm run test:chaos` cuts at every byte. */
  const EVERY = 41;
  const cuts = { every: EVERY, offset: seededRandom(seed).below(EVERY), onNewConnections: false };

  test(`a save is applied once, at whatever byte of it the connection is cut (every ${EVERY}th from ${cuts.offset}, HOLDFAST_SEED=${seed})`, async () => {
    const report = await cutSaves(wiredS3(server), cuts);
    console.log(`s3: ${report.cuts} cuts in saves, every ${EVERY}th byte; ${report.appliedUnseen} were written unseen`);
    expect(report.cuts).toBeGreaterThan(20);
    expect(report.failed).toBeGreaterThan(0);
  });

  test("a load gives the state or an error, at whatever byte of it the connection is cut", async () => {
    const report = await cutLoads(wiredS3(server), cuts);
    expect(report.cuts).toBeGreaterThan(20);
    expect(report.failed).toBeGreaterThan(0);
  });
});
