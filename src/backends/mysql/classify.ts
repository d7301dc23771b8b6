import { type ErrorCode, StateError } from "../../errors.ts";
import { NETWORK_CODES } from "../../internal/network-codes.ts";

/** By the server's error number. The numbers of MySQL and MariaDB are the same up to 1880. */
const BY_NUMBER: Readonly<Partial<Record<ErrorCode, readonly number[]>>> = {
  // Shutting down, too many connections, killed; a deadlock, of which nothing was written; a replica, or a primary that
  // was just demoted; a prepared statement that is not there any more.
  UNAVAILABLE: [
    ...[1040, 1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1226, 1927, 3169, 4031],
    ...[1213, 1290, 1792, 1836, 1243, 1461, 1615],
  ],
  TIMEOUT: [1205, 1317, 1907, 1969, 3024, 3572],
  PERMISSION_DENIED: [1044, 1045, 1130, 1142, 1143, 1227, 1251, 1370, 1396, 1524, 1698, 1862, 2049],
  INVALID_ARGUMENT: [1049],
  TOO_LARGE: [1118, 1153, 1301, 1406],
  STORAGE_FULL: [3, 1021, 1041, 1114, 1037, 1038],
  CORRUPT: [1034, 1035, 1194, 1195, 1712, 1877],
  // A table or column of ours is missing, or has another shape.
  INCOMPATIBLE: [1054, 1146],
};

const CODES: ReadonlyMap<number, ErrorCode> = new Map(
  Object.entries(BY_NUMBER).flatMap(([code, numbers]) => numbers.map((number) => [number, code as ErrorCode] as const)),
);

/** What the client raises itself. */
const BY_CLIENT_CODE: Readonly<Record<string, ErrorCode>> = {
  ...NETWORK_CODES,
  PROTOCOL_CONNECTION_LOST: "UNAVAILABLE",
  PROTOCOL_SEQUENCE_TIMEOUT: "TIMEOUT",
  AUTH_SWITCH_PLUGIN_ERROR: "PERMISSION_DENIED",
  HANDSHAKE_NO_SSL_SUPPORT: "INVALID_ARGUMENT",
  HANDSHAKE_SSL_ERROR: "PERMISSION_DENIED",
};

const BY_MESSAGE: readonly (readonly [RegExp, ErrorCode])[] = [
  [/closed state|^Pool is closed|Connection lost/i, "UNAVAILABLE"],
  [/certificate|self.signed/i, "PERMISSION_DENIED"],
];

export const numberOf = (error: unknown): number | undefined => {
  const { errno } = (error ?? {}) as { errno?: unknown };
  return typeof errno === "number" ? errno : undefined;
};

export function classify(error: unknown): ErrorCode | undefined {
  const known = CODES.get(numberOf(error) ?? -1);
  if (known !== undefined) return known;
  const { code, name, message } = (error ?? {}) as { code?: unknown; name?: unknown; message?: unknown };
  if (name === "TimeoutError") return "TIMEOUT";
  if (typeof code === "string" && Object.hasOwn(BY_CLIENT_CODE, code)) return BY_CLIENT_CODE[code];
  return BY_MESSAGE.find(([pattern]) => pattern.test(String(message)))?.[1];
}

/** The same error, or one that says what to do where that is known. */
export function explained(error: unknown): unknown {
  const message = error instanceof Error ? error.message : "";
  if (!/unknown plugin|client_ed25519|ER_NOT_SUPPORTED_AUTH_MODE/.test(message)) return error;
  const what = "mysql2 does not speak the plugin by which this account proves itself";
  const remedy = "give it mysql_native_password or caching_sha2_password (ALTER USER … IDENTIFIED …)";
  return new StateError("PERMISSION_DENIED", `${what}: ${remedy}`, { cause: error });
}

/** Errors of transactions whose commit was not sent, and of sessions that were not had. */
const notMade = new WeakSet<object>();

export function unmade(error: unknown): unknown {
  if (typeof error === "object" && error !== null) notMade.add(error);
  return error;
}

/** Of a statement that commits by itself: the server has undone it. Those that end a session may come after a commit. */
const UNDONE: readonly number[] = [1021, 1114, 1205, 1213, 1290, 1317, 1792, 1836, 1969, 3024, 3572];

/** Whether a failed write was certainly not made. */
export function isDeclined(error: unknown): boolean {
  const cause = StateError.is(error) && error.cause !== undefined ? error.cause : error;
  const isNotMade = [error, cause].some((each) => typeof each === "object" && each !== null && notMade.has(each));
  return isNotMade || UNDONE.includes(numberOf(cause) ?? -1);
}
