import { awsFailure, classifyAws } from "../../driver/aws.ts";
import type { ErrorCode } from "../../errors.ts";

export const isObjectAbsent = (error: unknown): boolean => awsFailure(error)?.word === "NoSuchKey";

export const isBucketAbsent = (error: unknown): boolean => awsFailure(error)?.word === "NoSuchBucket";

/** The condition did not hold, or another conditional write to the same name was in progress: nothing was written. */
export function isRefused(error: unknown): boolean {
  const failure = awsFailure(error);
  return failure?.status === 412 || (failure?.status === 409 && failure.word === "ConditionalRequestConflict");
}

/** The user may not do that, or the object is locked against it. */
export const isForbidden = (error: unknown): boolean => awsFailure(error)?.status === 403;

/** The service does not support the condition at all. */
export const isNotImplemented = (error: unknown): boolean => awsFailure(error)?.status === 501;

const BY_WORD: Readonly<Record<string, ErrorCode>> = {
  NoSuchBucket: "INVALID_ARGUMENT",
  InvalidBucketName: "INVALID_ARGUMENT",
  PermanentRedirect: "INVALID_ARGUMENT",
  AuthorizationHeaderMalformed: "INVALID_ARGUMENT",
  RequestTimeTooSkewed: "PERMISSION_DENIED",
  EntityTooLarge: "TOO_LARGE",
  SlowDown: "RATE_LIMITED",
  RequestTimeout: "TIMEOUT",
  QuotaExceeded: "STORAGE_FULL",
  XMinioStorageFull: "STORAGE_FULL",
};

export const classify = (error: unknown): ErrorCode | undefined => classifyAws(error, BY_WORD);
