import { StateError } from "../../errors.ts";
import { INDEX_MARK } from "./layout.ts";
import type { Json, Requests } from "./requests.ts";

/** What is wrong with an index that lacks our mark, or has one of an unknown version. */
export function faultOfMark(description: unknown): string | undefined {
  const { mappings } = (description ?? {}) as { mappings?: Json };
  const { holdfast } = (mappings?.["_meta"] ?? {}) as { holdfast?: { part?: unknown; version?: unknown } };
  const { part, version } = holdfast ?? {};
  if (typeof part !== "string" || typeof version !== "number") return "is not one of holdfast's";
  if (part !== INDEX_MARK.part) return `holds another part of holdfast (${JSON.stringify(part)})`;
  return version === INDEX_MARK.version ? undefined : "was made by a newer version";
}

/**
 * Checked before "there is no thread" is believed. If the index was deleted, another
 * write to its name may have recreated it: without a mapping and without threads, it
 * would report every thread as absent.
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
    `the index "${index}" ${fault}, though it was: it was deleted or replaced while it was used, and its threads ` +
      "are not in this one. Restore it from a snapshot, or delete this one to start empty",
  );
}
