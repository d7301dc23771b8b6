import { StateError } from "../../errors.ts";
import { INDEX_FORMAT } from "./layout.ts";
import type { Json, Requests } from "./requests.ts";

/** What is wrong with an index that does not carry our mark, or not the one that is known here. */
export function faultOfMark(description: unknown): string | undefined {
  const { mappings } = (description ?? {}) as { mappings?: Json };
  const { holdfast } = (mappings?.["_meta"] ?? {}) as { holdfast?: { format?: unknown } };
  if (holdfast?.format === INDEX_FORMAT) return undefined;
  return typeof holdfast?.format === "number" ? "was made by a newer version" : "is not one of holdfast's";
}

/**
 * Asked before "there is no thread" is believed. An index that was deleted may
 * have been made anew by whatever wrote to its name next: it has no mapping and
 * no thread, and says of every thread that it is not there.
 */
export async function assertStillOurs(requests: Requests): Promise<void> {
  const { index } = requests;
  const answer = await requests.send({
    method: "GET",
    path: `/${encodeURIComponent(index)}`,
    querystring: { filter_path: "*.mappings._meta" },
  });
  const [description] = Object.values(answer);
  const fault = faultOfMark(description);
  if (fault === undefined) return;
  throw new StateError(
    "INCOMPATIBLE",
    `the index "${index}" ${fault}, though it was: somebody deleted or replaced it while it was used, and its threads ` +
      "are not in this one. Restore it from a snapshot, or delete this one to begin anew",
  );
}
