import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { OCIBucketBackend } from "../../src/backends/oci/index.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { optionsOfUrl } from "../../src/backends/opensearch/checkpointer.ts";
import { opensearchCheckpointer } from "../../src/backends/opensearch/index.ts";
import { oracleCheckpointer } from "../../src/backends/oracle/index.ts";
import { S3BucketCheckpointer } from "../../src/backends/s3/index.ts";
import { served } from "../http/served.ts";
import { bucketOfTests } from "../oci-stand-in/test-bucket.ts";
import { describeWithOracle } from "../oracle-stand-in/with-oracle.ts";
import { s3Place } from "../s3/test-bucket.ts";
import { ownIndex } from "../services/opensearch-index.ts";
import { describeWithService } from "../services/with-service.ts";
import { logOf, testTampering } from "./tampering.ts";

/** A request or a flush for each: fewer bits of the ciphertext say as much. */
const BITS = 6;

testTampering(
  "file",
  async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-tampering-"));
    const { log, dispose } = logOf(await openCheckpointer(`file:${directory}`));
    return { log, dispose: () => dispose().then(() => rm(directory, { recursive: true })) };
  },
  BITS,
);

testTampering(
  "http",
  async () => {
    const service = await served(new MemoryLog());
    const { log } = logOf(service.client());
    return { log, dispose: async () => service[Symbol.asyncDispose]() };
  },
  BITS,
);

const place = `tampering_${process.pid}_${Date.now()}`;
let places = 0;

await describeWithService("postgres", (url) => {
  const at = (): string => `${url}${url.includes("?") ? "&" : "?"}schema=${place}_${places++}`;
  testTampering("postgres", async () => logOf(await openCheckpointer(at())), BITS);
});

await describeWithService("redis", (url) => {
  const at = (): string => `${url}${url.includes("?") ? "&" : "?"}prefix=${place}-${places++}:`;
  testTampering("redis", async () => logOf(await openCheckpointer(at())), BITS);
});

await describeWithService("opensearch", (url) => {
  const index = ownIndex(url);
  afterAll(index.remove);
  testTampering("opensearch", async () => logOf(opensearchCheckpointer(optionsOfUrl(index.namespace()))), BITS);
});

describe("oci", async () => {
  const bucket = await bucketOfTests();
  afterAll(() => bucket.close());
  testTampering("oci", async () => logOf(new OCIBucketBackend(bucket.emptyPlace())), BITS);
});

await describeWithService("s3", (url) => {
  testTampering("s3", async () => logOf(new S3BucketCheckpointer(s3Place(url))), BITS);
});

await describeWithOracle(({ options }) => {
  testTampering("oracle", async () => logOf(oracleCheckpointer(options())), BITS);
});
