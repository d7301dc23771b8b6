import { type ErrorCode, StateError } from "../../errors.ts";
import { NETWORK_CODES } from "../../internal/network-codes.ts";

/** By the first word of the server's error. */
const BY_WORD: Readonly<Record<string, ErrorCode>> = {
  NOAUTH: "PERMISSION_DENIED",
  WRONGPASS: "PERMISSION_DENIED",
  NOPERM: "PERMISSION_DENIED",
  OOM: "STORAGE_FULL",
  WRONGTYPE: "CORRUPT",
  // Raised by a script of ours.
  DAMAGEDITEM: "CORRUPT",
  APART: "CORRUPT",
  // A replica, or a primary that has just become one: the client will find the new primary.
  READONLY: "UNAVAILABLE",
  LOADING: "UNAVAILABLE",
  MASTERDOWN: "UNAVAILABLE",
  CLUSTERDOWN: "UNAVAILABLE",
  TRYAGAIN: "UNAVAILABLE",
  MOVED: "UNAVAILABLE",
  ASK: "UNAVAILABLE",
  NOREPLICAS: "UNAVAILABLE",
  MISCONF: "UNAVAILABLE",
  BUSY: "UNAVAILABLE",
  UNKILLABLE: "UNAVAILABLE",
  UNBLOCKED: "UNAVAILABLE",
};

/** By the text of the error. Checked before its first word. */
const BY_TEXT: readonly (readonly [pattern: RegExp, code: ErrorCode])[] = [
  [/^MISCONF[\s\S]*no space left/i, "STORAGE_FULL"],
  [/^ERR (?:invalid password|AUTH <password> called|Client sent AUTH)/, "PERMISSION_DENIED"],
  // A command inside a script; Redis's text, then Valkey's.
  [/^ERR (?:The user executing the script can't|ACL failure in script)/, "PERMISSION_DENIED"],
  [/^ERR max number of clients/, "UNAVAILABLE"],
  [/^ERR unknown command/i, "UNSUPPORTED"],
  [/^ERR DB index is out of range/, "INVALID_ARGUMENT"],
  [/^ERR (?:Protocol error: invalid bulk length|string exceeds maximum)/, "TOO_LARGE"],
  // The clients' own messages when a connection is lost or not established yet.
  [/^Connection is closed|isn't writeable|^Cluster isn't ready|^None of startup nodes/, "UNAVAILABLE"],
  [/^Too many Cluster redirections|^Cannot find node |^Cluster (?:closed|is disconnect)/, "UNAVAILABLE"],
  // A client that was handed in may have its own limits.
  [/^Command timed out|^Socket timeout\. /, "TIMEOUT"],
  [/already connecting|^Socket already opened|^Cluster already open/, "UNAVAILABLE"],
];

/** Error classes of ioredis and of redis, which have no code. */
const BY_CLASS: Readonly<Record<string, ErrorCode>> = {
  MaxRetriesPerRequestError: "UNAVAILABLE",
  ClusterAllFailedError: "UNAVAILABLE",
  AbortError: "UNAVAILABLE",
  SocketClosedUnexpectedlyError: "UNAVAILABLE",
  DisconnectsClientError: "UNAVAILABLE",
  ClientOfflineError: "UNAVAILABLE",
  ClientClosedError: "UNAVAILABLE",
  ReconnectStrategyError: "UNAVAILABLE",
  RootNodesUnavailableError: "UNAVAILABLE",
  MaxCommandRedirectionsError: "UNAVAILABLE",
  ConnectionTimeoutError: "TIMEOUT",
  SocketTimeoutError: "TIMEOUT",
  SocketTimeoutDuringMaintenanceError: "TIMEOUT",
  CommandTimeoutDuringMaintenanceError: "TIMEOUT",
  TimeoutError: "TIMEOUT",
};

export function classify(error: unknown): ErrorCode | undefined {
  if (!(error instanceof Error)) return undefined;
  // A cluster client that reached no node keeps the error of the last one.
  const { lastNodeError, code } = error as { lastNodeError?: unknown; code?: unknown };
  return (
    (lastNodeError === undefined ? undefined : classify(lastNodeError)) ??
    classifyText(serverText(error)) ??
    member(NETWORK_CODES, typeof code === "string" ? code : "") ??
    member(BY_CLASS, error.name) ??
    member(BY_CLASS, error.constructor.name)
  );
}

/** Before Redis 7, an error inside a script came wrapped in the place where it was raised. */
export const serverText = ({ message }: Error): string =>
  message.replace(/^ERR Error running script[\s\S]*?: -?(?=[A-Z]{3,} )/, "");

function classifyText(text: string): ErrorCode | undefined {
  const told = BY_TEXT.find(([pattern]) => pattern.test(text))?.[1];
  return told ?? member(BY_WORD, /^[A-Z]+/.exec(text)?.[0] ?? "");
}

const member = (codes: Readonly<Record<string, ErrorCode>>, name: string): ErrorCode | undefined =>
  Object.hasOwn(codes, name) ? codes[name] : undefined;

/** A script of ours reads before it writes, and a full server refuses its first write. */
export function isDeclined(error: unknown): boolean {
  const cause = StateError.is(error) ? error.cause : error;
  return cause instanceof Error && serverText(cause).startsWith("OOM ");
}
