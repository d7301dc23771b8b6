/** A part of a file that follows from the source. */
export interface SyncedPart {
  /** From the root of the repository. */
  readonly path: string;
  /** Where a change belongs instead. */
  readonly source: string;
  /** The whole file as it should be, from what it is. */
  write(text: string): string | Promise<string>;
}

/** What stands between two marks of a page is written; the rest is written by hand. */
export async function between(
  text: string,
  [start, end]: readonly [string, string],
  write: () => string | Promise<string>,
): Promise<string> {
  const [before, rest] = text.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`the page lacks the lines ${start} and ${end}`);
  return `${before}${start}\n${await write()}\n${end}${after}`;
}
