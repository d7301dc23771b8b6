import { BucketLog } from "../../checkpoint/bucket-log/log.ts";
import type { BucketSource } from "../../driver/object-bucket.ts";
import type { ServerClock } from "../../driver/server-clock.ts";
import { type BucketPlace, OciBucket } from "./bucket.ts";
import { classify } from "./classify.ts";
import { createClient, type ObjectStorageClientShape, type OciConnection } from "./connect.ts";
import { OciTransport } from "./transport.ts";

export interface OciLogOptions extends BucketPlace {
  readonly prefix: string;
  readonly connection: OciConnection;
  /** The client that was handed in; it stays open. */
  readonly client: ObjectStorageClientShape | undefined;
  readonly requestTimeoutMs: number;
}

/**
 * Object Storage answers a PUT when the object is on several servers: in several
 * availability domains where a region has them, else in several fault domains.
 */
const DURABILITY = "replicated";

/** The object-store log, on a bucket of OCI Object Storage. */
export class OciLog extends BucketLog {
  constructor(options: OciLogOptions) {
    super(ociBucketSource(options), options.prefix);
  }
}

/** The bucket for any driver that stands on one. `clock` is told the dates of all answers. */
export function ociBucketSource(options: OciLogOptions, clock?: ServerClock): BucketSource {
  const { client: given, connection, requestTimeoutMs } = options;
  const open = async () => {
    const transport = new OciTransport(requestTimeoutMs, clock);
    const client = given ?? (await createClient(connection, transport));
    return new OciBucket(client, transport, { ...options, ownsClient: given === undefined });
  };
  return { name: "oci", durability: DURABILITY, open, classify };
}
