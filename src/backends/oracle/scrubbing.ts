/** What no statement of ours can erase. */
const LEFT_IN_BLOCKS: readonly string[] = [
  "freed space in the tables' blocks until it is used again, or until ALTER TABLE … MOVE of these tables",
  "undo, redo logs and their archive, flashback data, and standby databases",
];

const LEFT_IN_TEXT_INDEX =
  "words of deleted rows in the text index until its owner runs CTX_DDL.OPTIMIZE_INDEX(…, 'FULL')";

export const remainsWith = (hasTextIndex: boolean): readonly string[] =>
  hasTextIndex ? [...LEFT_IN_BLOCKS, LEFT_IN_TEXT_INDEX] : LEFT_IN_BLOCKS;
