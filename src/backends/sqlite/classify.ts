import type { ErrorCode } from "../../errors.ts";

/** By SQLite's primary result code: https://sqlite.org/rescode.html */
const BY_RESULT: Readonly<Record<number, readonly [name: string, code: ErrorCode]>> = {
  3: ["PERM", "PERMISSION_DENIED"],
  5: ["BUSY", "UNAVAILABLE"],
  6: ["LOCKED", "UNAVAILABLE"],
  7: ["NOMEM", "UNAVAILABLE"],
  8: ["READONLY", "PERMISSION_DENIED"],
  10: ["IOERR", "UNKNOWN"],
  11: ["CORRUPT", "CORRUPT"],
  13: ["FULL", "STORAGE_FULL"],
  14: ["CANTOPEN", "PERMISSION_DENIED"],
  18: ["TOOBIG", "TOO_LARGE"],
  23: ["AUTH", "PERMISSION_DENIED"],
  26: ["NOTADB", "CORRUPT"],
};

const BY_NAME: ReadonlyMap<string, ErrorCode> = new Map(Object.values(BY_RESULT));

export function classify(error: unknown): ErrorCode | undefined {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return BY_RESULT[errcode & 0xff]?.[1];
  if (typeof code !== "string" || !code.startsWith("SQLITE_")) return undefined;
  return BY_NAME.get(code.split("_")[1] ?? "");
}

/** Another connection holds the lock: nothing was done, and it passes. */
export function isBusy(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return (errcode & 0xff) === 5;
  return typeof code === "string" && code.startsWith("SQLITE_BUSY");
}
