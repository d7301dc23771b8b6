import type { ErrorCode } from "../../errors.ts";
import { NETWORK_CODES } from "../../internal/network-codes.ts";

/** By SQLSTATE; the longest prefix that matches wins: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const BY_STATE: Readonly<Record<string, ErrorCode>> = {
  "08": "UNAVAILABLE",
  "22": "INVALID_ARGUMENT",
  // A replica, or a primary that was just demoted: the next connection may reach the new primary.
  "25006": "UNAVAILABLE",
  "25P03": "UNAVAILABLE",
  "25P04": "UNAVAILABLE",
  "28": "PERMISSION_DENIED",
  "3D000": "INVALID_ARGUMENT",
  "3F000": "INVALID_ARGUMENT",
  // Two transactions conflicted and one was rolled back: nothing of it was written.
  "40001": "UNAVAILABLE",
  "40P01": "UNAVAILABLE",
  "42501": "PERMISSION_DENIED",
  "53": "UNAVAILABLE",
  "53100": "STORAGE_FULL",
  "54": "TOO_LARGE",
  "55P03": "TIMEOUT",
  "55006": "UNAVAILABLE",
  "57014": "TIMEOUT",
  "57P": "UNAVAILABLE",
  XX001: "CORRUPT",
  XX002: "CORRUPT",
};

/** Errors of the socket. */
const BY_SYSTEM_CODE: Readonly<Record<string, ErrorCode>> = {
  ...NETWORK_CODES,
  ENOENT: "UNAVAILABLE",
  EACCES: "PERMISSION_DENIED",
};

/** Errors that `pg` raises itself have no code. */
const BY_MESSAGE: readonly (readonly [RegExp, ErrorCode])[] = [
  [/^Query read timeout|^timeout e(xceeded|xpired)|connection timeout/i, "TIMEOUT"],
  [/^Connection terminated|not queryable|^Cannot use a pool after/i, "UNAVAILABLE"],
];

export function classify(error: unknown): ErrorCode | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (typeof code === "string") {
    if (Object.hasOwn(BY_SYSTEM_CODE, code)) return BY_SYSTEM_CODE[code];
    if (/^[0-9A-Z]{5}$/.test(code)) return byState(code);
  }
  return BY_MESSAGE.find(([pattern]) => pattern.test(String(message)))?.[1];
}

function byState(state: string): ErrorCode | undefined {
  for (const length of [5, 3, 2]) {
    const key = state.slice(0, length);
    if (Object.hasOwn(BY_STATE, key)) return BY_STATE[key];
  }
  return undefined;
}

export const sqlState = (error: unknown): string | undefined => {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : undefined;
};
