import { awsFailure, classifyAws } from "../../driver/aws.ts";
import { type ErrorCode, reasonOf, StateError } from "../../errors.ts";

/** The condition did not hold: nothing was written. */
export const isRefused = (error: unknown): boolean => awsFailure(error)?.word === "ConditionalCheckFailedException";

export const isAbsentTable = (error: unknown): boolean => awsFailure(error)?.word === "ResourceNotFoundException";

const BY_WORD: Readonly<Record<string, ErrorCode>> = {
  ResourceNotFoundException: "INVALID_ARGUMENT",
  // The table is being made, changed or deleted.
  ResourceInUseException: "UNAVAILABLE",
  ProvisionedThroughputExceededException: "RATE_LIMITED",
  ThrottlingException: "RATE_LIMITED",
  RequestLimitExceeded: "RATE_LIMITED",
  LimitExceededException: "RATE_LIMITED",
  TransactionConflictException: "UNAVAILABLE",
  ItemCollectionSizeLimitExceededException: "STORAGE_FULL",
  AccessDeniedException: "PERMISSION_DENIED",
  UnrecognizedClientException: "PERMISSION_DENIED",
  MissingAuthenticationTokenException: "PERMISSION_DENIED",
  InvalidSignatureException: "PERMISSION_DENIED",
  IncompleteSignatureException: "PERMISSION_DENIED",
  ExpiredTokenException: "PERMISSION_DENIED",
};

export const classify = (error: unknown): ErrorCode | undefined => classifyAws(error, BY_WORD);

/** What to do about a failure that repeats until its cause is removed; any other failure unchanged. */
export function explained(error: unknown, tableName: string): unknown {
  const table = JSON.stringify(tableName);
  const word = awsFailure(error)?.word ?? (error instanceof Error ? error.name : "");
  if (isAbsentTable(error)) {
    return told(error, `there is no table ${table} in this region and account; ${howToMake(tableName)}`);
  }
  if (word === "ValidationException" && /key element|key schema|Missing the key/i.test(reasonOf(error))) {
    return told(error, `the table ${table} has another key than shard (S) and name (S): ${howToMake(tableName)}`);
  }
  if (word === "AccessDeniedException") {
    const actions = "dynamodb:GetItem, PutItem, DeleteItem and Query";
    return told(error, `this user may not use the table ${table}; it needs ${actions}`, "PERMISSION_DENIED");
  }
  if (word === "CredentialsProviderError") {
    const where = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the option credentials";
    return told(error, `there are no credentials: ${where}`, "PERMISSION_DENIED");
  }
  if (/region is missing/i.test(reasonOf(error))) {
    return told(error, 'no region is named: set AWS_REGION or give the option "region"');
  }
  return error;
}

const told = (cause: unknown, message: string, code: ErrorCode = "INVALID_ARGUMENT"): StateError =>
  new StateError(code, message, { cause });

const howToMake = (tableName: string): string =>
  `open it once with createTable: true, or: aws dynamodb create-table --table-name ${tableName} --billing-mode PAY_PER_REQUEST --attribute-definitions AttributeName=shard,AttributeType=S AttributeName=name,AttributeType=S --key-schema AttributeName=shard,KeyType=HASH AttributeName=name,KeyType=RANGE`;
