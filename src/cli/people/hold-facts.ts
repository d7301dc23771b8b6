import type { LegalHold } from "../../state/people/legal-hold.ts";
import type { Cell } from "../output/printer.ts";

/** A hold as people read it. */
export const holdFacts = ({
  id,
  subject,
  threadPrefix,
  reason,
  placedBy,
  placedAt,
  lifted,
}: LegalHold): readonly (readonly [string, Cell])[] => [
  ["hold", { id }],
  ["on", keptBy({ subject, threadPrefix })],
  ["reason", reason],
  ["placed", `${placedAt} by ${placedBy}`],
  ["lifted", lifted && `${lifted.at} by ${lifted.by}: ${lifted.reason}`],
];

export const keptBy = ({
  subject,
  threadPrefix,
}: {
  readonly subject: string | undefined;
  readonly threadPrefix: string | undefined;
}): string =>
  subject === undefined ? `threads ${JSON.stringify(threadPrefix ?? "")}…` : `person ${JSON.stringify(subject)}`;
