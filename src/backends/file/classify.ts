import type { ErrorCode } from "../../errors.ts";

const BY_CODE: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: "STORAGE_FULL",
  EDQUOT: "STORAGE_FULL",
  EFBIG: "TOO_LARGE",
  ERR_FS_FILE_TOO_LARGE: "TOO_LARGE",

  EACCES: "PERMISSION_DENIED",
  EPERM: "PERMISSION_DENIED",
  EROFS: "PERMISSION_DENIED",

  EMFILE: "UNAVAILABLE",
  ENFILE: "UNAVAILABLE",
  ENOMEM: "UNAVAILABLE",
  EBUSY: "UNAVAILABLE",
  EAGAIN: "UNAVAILABLE",
  EINTR: "UNAVAILABLE",
  ETXTBSY: "UNAVAILABLE",
  // A network file system whose server went away or came back as another.
  ESTALE: "UNAVAILABLE",
  ENOTCONN: "UNAVAILABLE",
  EHOSTDOWN: "UNAVAILABLE",
  EHOSTUNREACH: "UNAVAILABLE",
  ETIMEDOUT: "TIMEOUT",

  ENAMETOOLONG: "INVALID_ARGUMENT",
  ELOOP: "INVALID_ARGUMENT",

  // A file where a directory was made, or the other way round.
  ENOTDIR: "CORRUPT",
  EISDIR: "CORRUPT",

  // Never retried by itself: after a failed sync the kernel may call the lost pages clean, and a second sync would
  // say yes to bytes that are not on the disk. Somebody has to look at the disk first.
  EIO: "UNKNOWN",
};

export function classify(error: unknown): ErrorCode | undefined {
  const code = codeOf(error);
  return code !== undefined && Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
}

/** The system's name of a failure: "ENOENT". */
export function codeOf(error: unknown): string | undefined {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** Whether a file or directory was not there. What that means is for the caller to find out. */
export const isGone = (error: unknown): boolean => codeOf(error) === "ENOENT";

export function ignoreIfGone(error: unknown): undefined {
  if (!isGone(error)) throw error;
  return undefined;
}
