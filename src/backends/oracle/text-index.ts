import { StateError } from "../../errors.ts";
import { text } from "./binds.ts";
import { classify, isOra } from "./classify.ts";
import type { OracleHandle } from "./handle.ts";
import type { TableNames } from "./layout.ts";
import { text as textIn } from "./rows.ts";

/** Synced on commit: an index that is synced later would miss what was indexed for this very search. */
export const textIndexSql = ({ words }: TableNames): string =>
  `CREATE INDEX ${words}_TEXT ON ${words} (words) INDEXTYPE IS CTXSYS.CONTEXT PARAMETERS ('SYNC (ON COMMIT)')`;

export const TEXT_INDEX_OF = `SELECT i.index_name, i.domidx_opstatus, i.parameters FROM all_indexes i
JOIN all_ind_columns c ON c.index_owner = i.owner AND c.index_name = i.index_name
WHERE i.table_owner = COALESCE(:b_owner, USER) AND i.table_name = :b_table AND c.column_name = 'WORDS'
  AND i.ityp_owner = 'CTXSYS' AND i.ityp_name IN ('CONTEXT', 'CONTEXT_V2')`;

const IS_SYNCED = /\bSYNC\s*\(\s*ON\s+COMMIT\b/i;

/** Whether words can be searched through an index: it must be intact, and synced on commit. */
export const hasTextIndex = async (handle: OracleHandle, names: TableNames): Promise<boolean> =>
  (await lookForIndex(handle, names)) === "usable";

/** An index that is still being created counts as absent. */
async function lookForIndex(
  handle: OracleHandle,
  { owner, words }: TableNames,
): Promise<"usable" | "unusable" | "absent"> {
  const { rows } = await handle.ask(TEXT_INDEX_OF, { b_owner: text(owner), b_table: text(words.split(".").at(-1)) });
  const found = rows.map((row) => ({ status: textIn(row, "DOMIDX_OPSTATUS"), given: textIn(row, "PARAMETERS") ?? "" }));
  if (found.some(({ status, given }) => status === "VALID" && IS_SYNCED.test(given))) return "usable";
  return found.some(({ status }) => status === "VALID" || status === "FAILED") ? "unusable" : "absent";
}

/** Name in use, or column already indexed: another process was faster. */
const THERE_ALREADY = [955, 1408, 29879];

/** Checks first: a user who may only work with the rows is refused CREATE INDEX even if the index exists. */
export async function createTextIndex(handle: OracleHandle, names: TableNames): Promise<void> {
  if ((await lookForIndex(handle, names)) === "usable") return;
  try {
    await handle.ask(textIndexSql(names), {}, true);
  } catch (error) {
    if (isOra(error, ...THERE_ALREADY)) return assertUsable(handle, names);
    if (classify(error) !== "PERMISSION_DENIED") throw error;
    const what = `there is no text index, and this user may not create one: the owner of the table runs ${textIndexSql(names)}`;
    throw new StateError("PERMISSION_DENIED", what, { cause: error });
  }
}

const MOST_LOOKS = 20;

/** Another process may be creating it at this moment; or there is one that we cannot use. */
async function assertUsable(handle: OracleHandle, names: TableNames): Promise<void> {
  for (let look = 1; look <= MOST_LOOKS; look++) {
    const found = await lookForIndex(handle, names);
    if (found === "usable") return;
    if (found === "unusable") break;
    await new Promise((resolve) => setTimeout(resolve, 20 * look));
  }
  const what = `the text index of ${names.words} is not intact, or not synced on commit`;
  throw new StateError("INCOMPATIBLE", `${what}: its owner drops it and runs ${textIndexSql(names)}`);
}
