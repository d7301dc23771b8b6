import type { LogEntry } from "../../checkpoint/log/thread-log.ts";
import { decodeMetadata, encodeMetadata } from "../../checkpoint/record/metadata.ts";
import { subjectsIn } from "../../state/people/subjects.ts";
import type { Kept } from "../history/whole-thread.ts";

/**
 * Whom a graph's thread is about: the metadata of any of its checkpoints say so. What
 * is left of a thread, or forked from it, is still about the same people, whichever of
 * its checkpoints named them.
 */

export const subjectsNamedBy = ({ metadata }: Pick<LogEntry, "metadata">): readonly string[] =>
  metadata === undefined ? [] : subjectsIn(decodeMetadata(metadata, "metadata")["subject"]);

/** Who has to be named anew, and in which of the places that stay: in the first, so that all that follow are known to be about them. */
export function subjectsToKeep(
  records: readonly LogEntry[],
  staying: readonly Kept[],
): { readonly subjects: readonly string[]; readonly in: Kept | undefined } {
  const lost = new Set(records.flatMap(subjectsNamedBy));
  for (const kept of staying) {
    const known = kept.epoch.find(kept);
    for (const subject of known === undefined ? [] : subjectsNamedBy(known)) lost.delete(subject);
  }
  const first = staying.find((kept) => kept.epoch.find(kept) !== undefined) ?? staying[0];
  return { subjects: [...lost], in: lost.size === 0 ? undefined : first };
}

/** The metadata, which name these people as well. */
export function namingSubjects(metadata: string | undefined, subjects: readonly string[]): string | undefined {
  if (subjects.length === 0) return metadata;
  const members = metadata === undefined ? {} : decodeMetadata(metadata, "metadata");
  return encodeMetadata({ ...members, subject: [...subjectsIn(members["subject"]), ...subjects] });
}
