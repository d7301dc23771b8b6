import type { AppendRequest } from "../log/thread-log.ts";

/** Changes of existing records that an append carries out. */
export type Edits = Pick<AppendRequest, "replace" | "drop" | "dropBelow">;

/** Whether the plan was made for a thread that grew beyond this tail, where an append would be refused. */
export const isOvertaken = ({ replace = [], drop = [], dropBelow = 0 }: Edits, tail: number): boolean =>
  dropBelow > tail + 1 || drop.some((seq) => seq > tail) || replace.some(({ seq }) => seq > tail);
