import { type AwsClientShape, type AwsConnection, awsClientOptions } from "../../driver/aws.ts";
import { importPeer } from "../../internal/import-peer.ts";

export interface S3Connection extends AwsConnection {
  /** Whether the bucket is part of the path rather than of the host name. @default true with an `endpoint` */
  readonly forcePathStyle?: boolean;
}

/** The SDK's commands, by operation. */
export interface S3Module {
  readonly S3Client: new (options: object) => AwsClientShape;
  readonly GetObjectCommand: new (input: object) => object;
  readonly PutObjectCommand: new (input: object) => object;
  readonly DeleteObjectCommand: new (input: object) => object;
  readonly ListObjectsV2Command: new (input: object) => object;
  readonly ListObjectVersionsCommand: new (input: object) => object;
}

export const SDK_VERSIONS = ">=3.700 <4";

export const loadSdk = (): Promise<S3Module> => importPeer("@aws-sdk/client-s3", SDK_VERSIONS);

export function createClient(sdk: S3Module, connection: S3Connection): AwsClientShape {
  const { endpoint, forcePathStyle = endpoint !== undefined } = connection;
  return new sdk.S3Client({
    ...awsClientOptions(connection),
    forcePathStyle,
    // Other services do not support the newer checksums; each of our objects carries its own.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
}
