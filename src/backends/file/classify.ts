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
  // A network file system whose server went away or was replaced.
  ESTALE: "UNAVAILABLE",
  ENOTCONN: "UNAVAILABLE",
  EHOSTDOWN: "UNAVAILABLE",
  EHOSTUNREACH: "UNAVAILABLE",
  ETIMEDOUT: "TIMEOUT",

  ENAMETOOLONG: "INVALID_ARGUMENT",
  ELOOP: "INVALID_ARGUMENT",

  // A file where a directory should be, or the other way round.
  ENOTDIR: "CORRUPT",
  EISDIR: "CORRUPT",

  // Never retried automatically: after a failed sync the kernel may mark the lost pages as clean, and a second sync would
  // succeed although the bytes are not on the disk. The disk must be checked first.
  EIO: "UNKNOWN",
};

export function classify(error: unknown): ErrorCode | undefined {
  const code = codeOf(error);
  return code !== undefined && Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
}

/** The system's error code, such as "ENOENT". */
export function codeOf(error: unknown): string | undefined {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** Whether a file or directory does not exist. The caller must find out what that means. */
export const isGone = (error: unknown): boolean => codeOf(error) === "ENOENT";

export function ignoreIfGone(error: unknown): undefined {
  if (!isGone(error)) throw error;
  return undefined;
}
