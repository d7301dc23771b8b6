import { StateError } from "../errors.ts";
import { invalid } from "./options.ts";

/**
 * What a storage is opened for. With `"read"` nothing is created, migrated,
 * indexed, locked or cleaned up: looking at a store leaves every byte as it was.
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

/** The error of read access where no writer has made a store yet. `what` names the missing thing. */
export const noStoreHere = (what: string, cause?: unknown): StateError =>
  new StateError("NOT_FOUND", `there is no store here: ${what}. With access: "read" nothing is made`, { cause });
