import { randomBytes } from "node:crypto";
import { OCIBucketBackend, type OCIBucketOptions } from "../../src/backends/oci/index.ts";
import { OciLog, type OciLogOptions } from "../../src/backends/oci/log.ts";
import { isReadable } from "../../src/checkpoint/log/listed-threads.ts";
import type { WiredStorage } from "../network/wire-cuts.ts";
import { OciStandIn, type StandInOptions } from "./stand-in.ts";

/** Where a test may write: options for a checkpointer, with a prefix of its own. */
export interface TestPlace extends OCIBucketOptions {
  readonly prefix: string;
}

/** The bucket that a suite runs against. */
export interface TestBucket {
  readonly isLive: boolean;
  emptyPlace(): TestPlace;
  openLog(place: TestPlace): OciLog;
  /** Takes everything away below a prefix. */
  clear(prefix: string): Promise<void>;
  /** Only on the stand-in: a test cannot take the real service down. */
  readonly outage?: () => Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const newPrefix = (): string => `test-${randomBytes(6).toString("hex")}/`;

export const logOptions = ({
  bucketName,
  namespace,
  compartmentId,
  prefix,
  client,
  ...connection
}: TestPlace): OciLogOptions => ({
  bucketName,
  namespace,
  compartmentId,
  prefix,
  client,
  requestTimeoutMs: connection.requestTimeoutMs ?? 30_000,
  connection,
});

/** Options for a checkpointer on a stand-in. */
export const placeOn = (standIn: OciStandIn, prefix: string = newPrefix()): TestPlace => {
  const { namespace, endpoint, auth } = standIn;
  return { bucketName: "threads", namespace, endpoint, auth, prefix };
};

/**
 * A bucket of the real service when HOLDFAST_TEST_OCI_BUCKET names one (with
 * HOLDFAST_TEST_OCI_NAMESPACE, _REGION, _AUTH, _PROFILE as needed), else the
 * stand-in; the run says which.
 */
export async function bucketOfTests(options: StandInOptions = { mostListed: 7 }): Promise<TestBucket> {
  const bucketName = process.env["HOLDFAST_TEST_OCI_BUCKET"];
  if (bucketName !== undefined && bucketName !== "") return liveBucket(bucketName);
  console.log("oci: HOLDFAST_TEST_OCI_BUCKET is not set; the suite runs the real SDK against the stand-in");
  const standIn = await OciStandIn.start(options);
  return {
    isLive: false,
    emptyPlace: () => placeOn(standIn),
    openLog: (place) => new OciLog(logOptions(place)),
    clear: async (prefix) => {
      for (const name of standIn.objects().keys()) if (name.startsWith(prefix)) standIn.objects().delete(name);
    },
    outage: async () => {
      standIn.faultAt = () => ({ when: "before", answer: { status: 503, code: "ServiceUnavailable" } });
      return async () => {
        standIn.faultAt = () => undefined;
      };
    },
    close: () => standIn.close(),
  };
}

function liveBucket(bucketName: string): TestBucket {
  const setting = (name: string): Record<string, string> => {
    const value = process.env[`HOLDFAST_TEST_OCI_${name.toUpperCase()}`];
    return value === undefined || value === "" ? {} : { [name]: value };
  };
  const place = {
    bucketName,
    ...setting("namespace"),
    ...setting("region"),
    ...setting("auth"),
    ...setting("profile"),
  };
  const openLog = (at: TestPlace): OciLog => new OciLog(logOptions(at));
  return {
    isLive: true,
    emptyPlace: () => ({ ...place, prefix: newPrefix() }) as TestPlace,
    openLog,
    clear: async (prefix) => {
      const log = openLog({ ...place, prefix } as TestPlace);
      for (;;) {
        const { items, cursor } = await log.listThreads({ prefix: "", limit: 100 });
        for (const { threadId } of items.filter(isReadable)) await log.remove(threadId);
        if (cursor === undefined) break;
      }
      await log.removeLeftovers();
      await log.close();
    },
    close: async () => undefined,
  };
}

/** The stand-in behind a wire: the signature covers the port that a client believes in, and the stand-in takes its word. */
export function wiredBucket(standIn: OciStandIn): WiredStorage {
  const place = placeOn(standIn);
  return {
    targetPort: standIn.port,
    open: async (port, options) =>
      new OCIBucketBackend({
        ...options,
        ...place,
        endpoint: `http://127.0.0.1:${port}`,
        requestTimeoutMs: 30_000,
      }),
  };
}
