import { BucketLog } from "../../checkpoint/bucket-log/log.ts";
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
    const { client: given, connection, requestTimeoutMs, prefix } = options;
    const open = async () => {
      const transport = new OciTransport(requestTimeoutMs);
      const client = given ?? (await createClient(connection, transport));
      return new OciBucket(client, transport, { ...options, ownsClient: given === undefined });
    };
    super({ name: "oci", durability: DURABILITY, open, classify }, prefix);
  }
}
