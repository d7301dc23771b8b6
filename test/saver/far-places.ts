import { afterAll } from "vitest";
import { DynamodbCheckpointer } from "../../src/backends/dynamodb/index.ts";
import { OCIBucketBackend } from "../../src/backends/oci/index.ts";
import { optionsOfUrl } from "../../src/backends/opensearch/checkpointer.ts";
import { opensearchCheckpointer } from "../../src/backends/opensearch/index.ts";
import { S3BucketCheckpointer } from "../../src/backends/s3/index.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../src/checkpoint/context.ts";
import { dynamodbPlace } from "../dynamodb/test-table.ts";
import { served } from "../http/served.ts";
import { bucketOfTests } from "../oci-stand-in/test-bucket.ts";
import { s3Place } from "../s3/test-bucket.ts";
import { ownIndex } from "../services/opensearch-index.ts";
import { describeWithService } from "../services/with-service.ts";
import type { SaverPlace } from "./saver-places.ts";

/** Remembers what it opened, so that a place can be left. */
function closing(make: (options: CheckpointerOptions) => Checkpointer, leave: () => Promise<void>): SaverPlace {
  const opened: Checkpointer[] = [];
  return {
    open: (options = {}) => {
      const checkpointer = make(options);
      opened.push(checkpointer);
      return checkpointer;
    },
    cleanup: async () => {
      for (const checkpointer of opened) await checkpointer.close();
      await leave();
    },
  };
}

const nothing = async (): Promise<void> => undefined;

/** The storages that are far away: behind the service, in buckets, in a search engine. */
export async function onFarPlaces(prove: (name: string, makePlace: () => Promise<SaverPlace>) => void): Promise<void> {
  prove("http", async () => {
    const service = await served();
    return closing(
      (options) => service.client(options),
      async () => service[Symbol.asyncDispose](),
    );
  });
  const bucket = await bucketOfTests({});
  afterAll(() => bucket.close());
  prove("oci", async () => {
    const place = bucket.emptyPlace();
    return closing((options) => new OCIBucketBackend({ ...options, ...place }), nothing);
  });
  await describeWithService("s3", (url) => {
    prove("s3", async () => {
      const place = s3Place(url);
      return closing((options) => new S3BucketCheckpointer({ ...options, ...place }), nothing);
    });
  });
  await describeWithService("dynamodb", (url) => {
    prove("dynamodb", async () => {
      const place = dynamodbPlace(url);
      return closing((options) => new DynamodbCheckpointer({ ...options, ...place }), nothing);
    });
  });
  await describeWithService("opensearch", (url) => {
    const index = ownIndex(url);
    afterAll(index.remove);
    prove("opensearch", async () => {
      const place = optionsOfUrl(index.namespace());
      return closing((options) => opensearchCheckpointer({ ...options, ...place }), nothing);
    });
  });
}
