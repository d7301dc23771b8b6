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
  /** Like `eu-central-1`. @default the SDK's own search: AWS_REGION, the shared config file */
  readonly region?: string;
  /** The address of another service than Amazon's: R2, MinIO, and others. */
  readonly endpoint?: string;
  /** Whether the bucket stands in the path and not in the host's name. @default true with an `endpoint` */
  readonly forcePathStyle?: boolean;
  /** @default the SDK's own search: environment, shared config file, instance role */
  readonly credentials?: S3Credentials;
}

/** The SDK's commands, by the operations that are needed. */
export interface S3Module {
  readonly S3Client: new (options: object) => S3ClientShape;
  readonly GetObjectCommand: new (input: object) => object;
  readonly PutObjectCommand: new (input: object) => object;
  readonly DeleteObjectCommand: new (input: object) => object;
  readonly ListObjectsV2Command: new (input: object) => object;
  readonly ListObjectVersionsCommand: new (input: object) => object;
}

export const SDK_VERSIONS = ">=3.700 <4";

export async function loadSdk(): Promise<S3Module> {
  // A variable, so that a type check does not need a package that most users do not have.
  const name = "@aws-sdk/client-s3";
  return (await importPeer(name, SDK_VERSIONS, () => import(name) as Promise<unknown>)) as S3Module;
}

export function createClient(sdk: S3Module, connection: S3Connection): S3ClientShape {
  const { region, endpoint, credentials, forcePathStyle = endpoint !== undefined } = connection;
  return new sdk.S3Client({
    ...(region !== undefined && { region }),
    // A store of one's own has no regions, but requests are signed for one.
    ...(endpoint !== undefined && { endpoint, region: region ?? "us-east-1" }),
    ...(credentials !== undefined && { credentials }),
    forcePathStyle,
    // What may be repeated is repeated above, where it is known whether that is safe.
    maxAttempts: 1,
    // Other services than Amazon's do not know the newer checksums; each of our objects carries its own.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
}
