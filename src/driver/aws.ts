import { type ErrorCode, StateError } from "../errors.ts";
import { assertDurability, type Durability } from "./durability.ts";

/** The part of a client of the AWS SDK that is used here. */
export interface AwsClientShape {
  send(command: object, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>;
  destroy?(): void;
}

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface AwsConnection {
  /** Like `eu-central-1`. @default the SDK's own lookup: AWS_REGION, the shared config file */
  readonly region?: string;
  /** The address of a service other than Amazon's. */
  readonly endpoint?: string;
  /** @default the SDK's own lookup: environment, shared config file, instance role */
  readonly credentials?: AwsCredentials;
}

export interface AwsOptions extends AwsConnection {
  /** A client of the SDK of your own, instead of `region`, `endpoint` and `credentials`. It stays yours: `close()` leaves it open. */
  readonly client?: AwsClientShape;
  /**
   * How durable an answered write is. Amazon's services replicate. Behind an `endpoint`
   * that is unknown, so the lowest is assumed unless you say more. @default
   * "replicated" without an `endpoint`, "os" with one
   */
  readonly serverDurability?: Durability;
}

export const AWS_KINDS = {
  region: "string",
  endpoint: "string",
  credentials: "object",
  client: "object",
  serverDurability: "string",
} as const;

export function awsDurability({ client, endpoint, serverDurability }: AwsOptions): Durability {
  const assumed = endpoint === undefined && client === undefined ? "replicated" : "os";
  assertDurability(serverDurability);
  return serverDurability ?? assumed;
}

/** What a client of the SDK is made with. */
export const awsClientOptions = ({ region, endpoint, credentials }: AwsConnection): object => ({
  ...(region !== undefined && { region }),
  // An S3-compatible service has no regions, but requests must be signed for one.
  ...(endpoint !== undefined && { endpoint, region: region ?? "us-east-1" }),
  ...(credentials !== undefined && { credentials }),
  // Retries are made by our own code, which knows whether they are safe.
  maxAttempts: 1,
});

export const awsSecrets = ({ credentials }: AwsConnection): readonly string[] =>
  [credentials?.secretAccessKey, credentials?.sessionToken].filter((secret) => secret !== undefined);

export interface AwsFailure {
  /** The service's error code, like `NoSuchKey`, or that of the network. */
  readonly word: string;
  /** Absent if there was no answer. */
  readonly status: number | undefined;
}

/** Names of the SDK's errors for requests that got no answer. */
const NO_ANSWER: ReadonlySet<string> = new Set(["TimeoutError", "AbortError", "NetworkingError"]);

/** The status and code of an answer, or the network's code, from an error of the SDK; `undefined` for any other error. */
export function awsFailure(error: unknown): AwsFailure | undefined {
  if (typeof error !== "object" || error === null || StateError.is(error)) return undefined;
  const { name, code, $metadata } = error as {
    name?: unknown;
    code?: unknown;
    $metadata?: { httpStatusCode?: number };
  };
  // An answer that broke off after "200 OK" is none.
  const told = $metadata?.httpStatusCode;
  const status = told === undefined || told < 300 ? undefined : told;
  if (status === undefined && typeof code !== "string" && !NO_ANSWER.has(String(name))) return undefined;
  return { word: String(status === undefined && typeof code === "string" ? code : name), status };
}

/** Whether a write that failed like this may have been made. */
export function mayHaveBeenMade(error: unknown): boolean {
  if (StateError.is(error, "TIMEOUT")) return true;
  const failure = awsFailure(error);
  return failure !== undefined && (failure.status === undefined || failure.status >= 500);
}

/** The code for an error of the SDK: by the service's own words first. */
export function classifyAws(error: unknown, byWord: Readonly<Record<string, ErrorCode>>): ErrorCode | undefined {
  const name = (error as { name?: unknown } | undefined)?.name;
  if (name === "CredentialsProviderError") return "PERMISSION_DENIED";
  const failure = awsFailure(error);
  if (failure === undefined) return undefined;
  const { word, status } = failure;
  if (status === undefined) return /TIMEOUT|TIMEDOUT|TimeoutError/.test(word) ? "TIMEOUT" : "UNAVAILABLE";
  if (Object.hasOwn(byWord, word)) return byWord[word];
  return codeOfStatus(status);
}

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: "INVALID_ARGUMENT",
  401: "PERMISSION_DENIED",
  403: "PERMISSION_DENIED",
  404: "INVALID_ARGUMENT",
  408: "TIMEOUT",
  409: "UNAVAILABLE",
  412: "UNAVAILABLE",
  413: "TOO_LARGE",
  429: "RATE_LIMITED",
  504: "TIMEOUT",
  507: "STORAGE_FULL",
};

const codeOfStatus = (status: number): ErrorCode | undefined =>
  BY_STATUS[status] ?? (status >= 500 ? "UNAVAILABLE" : undefined);
