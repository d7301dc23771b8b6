import { StateError } from "../../errors.ts";
import { FILE_FORMAT } from "./layout.ts";

const WHAT_TO_DO = "Restore it from a backup, or delete the thread";

/** A file whose content is not what was written, or that only a newer version can read. */
export function damagedRecord(location: string, why: { format?: unknown; cause?: unknown } = {}): StateError {
  const { format, cause } = why;
  const context = { location, ...(cause !== undefined && { cause }) };
  if (Number.isSafeInteger(format) && Number(format) > FILE_FORMAT) {
    const versions = `file format v${String(format)}; this build reads up to v${FILE_FORMAT}`;
    return new StateError(
      "INCOMPATIBLE",
      `${location} was written by ${versions}. Upgrade holdfast to read it`,
      context,
    );
  }
  const what = "it was cut short, changed by hand, or the disk gave back other bytes";
  return new StateError("CORRUPT", `${location} is damaged: ${what}. ${WHAT_TO_DO}`, context);
}

/** An intact file in the wrong place. */
export const foreignRecord = (location: string, owner: string): StateError =>
  new StateError("CORRUPT", `${location} does not belong there: it is ${owner}. ${WHAT_TO_DO}`, { location });

export const brokenLog = (location: string, what: string): StateError =>
  new StateError("CORRUPT", `${location} ${what}: files were moved or removed by hand. ${WHAT_TO_DO}`, { location });
