import { StateError } from "../errors.ts";
import { invalid } from "./options.ts";

/**
 * What a storage is opened for. With `"read"` nothing is created, migrated,
 * indexed, locked or tidied up, so that looking at a store leaves it byte for byte
 * as it is.
 */
export type Access = "read" | "write";

export function assertAccess(access: unknown): asserts access is Access | undefined {
  if (access === undefined || access === "read" || access === "write") return;
  throw invalid('the option "access" must be "read" or "write"');
}

/** Why a write is refused before anything is sent. */
export const readOnlyAccess = (): StateError =>
  new StateError(
    "PERMISSION_DENIED",
    'the storage was opened with access: "read", which changes nothing; open it with access: "write" for this',
  );

/** For access `"read"` where a writer would have made the store. `what` says what is not there. */
export const noStoreHere = (what: string, cause?: unknown): StateError =>
  new StateError("NOT_FOUND", `there is no store here: ${what}. With access: "read" nothing is made`, { cause });
