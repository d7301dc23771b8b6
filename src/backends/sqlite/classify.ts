import type { Access } from "../../driver/access.ts";
import { type ErrorCode, reasonOf, StateError } from "../../errors.ts";

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

/** Errors of the file system, before SQLite has opened the file. */
const BY_SYSTEM_CODE: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ["EACCES", "PERMISSION_DENIED"],
  ["EPERM", "PERMISSION_DENIED"],
  ["EROFS", "PERMISSION_DENIED"],
  ["EISDIR", "INVALID_ARGUMENT"],
  ["ENOTDIR", "INVALID_ARGUMENT"],
  ["ENOENT", "INVALID_ARGUMENT"],
  ["ENAMETOOLONG", "INVALID_ARGUMENT"],
  ["ENOSPC", "STORAGE_FULL"],
  ["EDQUOT", "STORAGE_FULL"],
  ["EMFILE", "UNAVAILABLE"],
  ["ENFILE", "UNAVAILABLE"],
]);

/** The code of the cause where an open file has lost its name. */
export const STALE = "ESTALE";

export function classify(error: unknown): ErrorCode | undefined {
  if (isInsideTransaction(error)) return "INVALID_ARGUMENT";
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return BY_RESULT[errcode & 0xff]?.[1];
  if (typeof code !== "string") return undefined;
  return code.startsWith("SQLITE_") ? BY_NAME.get(code.split("_")[1] ?? "") : BY_SYSTEM_CODE.get(code);
}

/** Another connection holds the lock: nothing was done, and a retry may succeed. */
export const isBusy = (error: unknown): boolean => hasResult(error, 5, "SQLITE_BUSY");

export const isCannotOpen = (error: unknown): boolean => hasResult(error, 14, "SQLITE_CANTOPEN");

/** `BEGIN` on a connection that was handed in and is inside its owner's transaction. */
export const isInsideTransaction = (error: unknown): boolean =>
  error instanceof Error && error.message.includes("cannot start a transaction within a transaction");

/** An append in one statement found another row of its thread than it was told: nothing was done. */
export const isMoved = (error: unknown): boolean =>
  error instanceof Error && error.message.includes("holdfast: the thread is not as it was");

/** Locked, full, gone or impossible to open: the transaction was rolled back or never began. */
export function isDeclined(error: unknown): boolean {
  const original = StateError.is(error) ? error.cause : error;
  if ((original as { code?: unknown } | undefined)?.code === STALE) return true;
  return (
    isBusy(original) || isCannotOpen(original) || DECLINED.some(([result, name]) => hasResult(original, result, name))
  );
}

const DECLINED = [
  [13, "SQLITE_FULL"],
  [26, "SQLITE_NOTADB"],
] as const;

function hasResult(error: unknown, result: number, name: string): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return (errcode & 0xff) === result;
  return typeof code === "string" && code.startsWith(name);
}

/** Why opening the file failed, with its path: SQLite's own error does not name it. */
export function openingFailure(path: string, error: unknown, access: Access = "write"): unknown {
  if (StateError.is(error)) return error;
  const code = classify(error);
  if (code === undefined || isBusy(error)) return error;
  const message = `${JSON.stringify(path)} cannot be opened: ${reasonOf(error)}${openingHint(code, error, access)}`;
  return new StateError(code, message, { location: path, cause: error });
}

function openingHint(code: ErrorCode, error: unknown, access: Access): string {
  if ((error as { code?: unknown }).code === "EISDIR") return ". It is a folder; name a file in it";
  if (code === "CORRUPT") return ". Choose another path, or restore the file from a backup";
  if (code !== "PERMISSION_DENIED") return "";
  if (access === "read") return ". The process must be allowed to read the file, and the -wal and -shm files beside it";
  return ". The process must be allowed to write the file and its folder";
}

/** A failed write, with an explanation where the code alone would leave the caller guessing. */
export function writingFailure(error: unknown): unknown {
  const hint = StateError.is(error) ? undefined : writingHint(error);
  if (hint === undefined) return error;
  return new StateError(classify(error) ?? "UNKNOWN", `${reasonOf(error)}${hint}`, { cause: error });
}

function writingHint(error: unknown): string | undefined {
  if (isInsideTransaction(error)) {
    return ": the connection that was handed in is in a transaction of its owner. Commit that first, or hand in a connection that has no other use";
  }
  if (isBusy(error)) return ": another connection wrote for longer than busyTimeoutMs";
  const code = classify(error);
  if (code === "STORAGE_FULL") return ". Free some space and repeat the call";
  if (code === "PERMISSION_DENIED") return ". The process must be allowed to write the file and its folder";
  return undefined;
}
