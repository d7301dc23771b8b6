import { importPeer } from "../../internal/import-peer.ts";

/** The part of the SDK's `S3Client` that is used here. */
export interface S3ClientShape {
  send(command: object, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>;
  destroy?(): void;
}

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface S3Connection {
  /** Like `eu-central-1`. @default the SDK's own lookup: AWS_REGION, the shared config file */
  readonly region?: string;
  /** The address of a service other than Amazon's: R2, MinIO and others. */
  readonly endpoint?: string;
  /** Whether the bucket is part of the path rather than of the host name. @default true with an `endpoint` */
  readonly forcePathStyle?: boolean;
  /** @default the SDK's own lookup: environment, shared config file, instance role */
  readonly credentials?: S3Credentials;
}

/** The SDK's commands, by operation. */
export interface S3Module {
  readonly S3Client: new (options: object) => S3ClientShape;
  readonly GetObjectCommand: new (input: object) => object;
  readonly PutObjectCommand: new (input: object) => object;
  readonly DeleteObjectCommand: new (input: object) => object;
  readonly ListObjectsV2Command: new (input: object) => object;
  readonly ListObjectVersionsCommand: new (input: object) => object;
}

export const SDK_VERSIONS = ">=3.700 <4";

export const loadSdk = (): Promise<S3Module> => importPeer("@aws-sdk/client-s3", SDK_VERSIONS);

export function createClient(sdk: S3Module, connection: S3Connection): S3ClientShape {
  const { region, endpoint, credentials, forcePathStyle = endpoint !== undefined } = connection;
  return new sdk.S3Client({
    ...(region !== undefined && { region }),
    // A self-hosted service has no regions, but requests must be signed for one.
    ...(endpoint !== undefined && { endpoint, region: region ?? "us-east-1" }),
    ...(credentials !== undefined && { credentials }),
    forcePathStyle,
    // Retries are made by our own code, which knows whether they are safe.
    maxAttempts: 1,
    // Other services do not support the newer checksums; each of our objects carries its own.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
}
