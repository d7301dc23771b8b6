import { type AppendShape, appendBlock } from "../../src/backends/oracle/append-block.ts";
import { oracleDdl } from "../../src/backends/oracle/ddl.ts";
import { FACTS_OF_SESSION } from "../../src/backends/oracle/handle.ts";
import { tableNames } from "../../src/backends/oracle/layout.ts";
import { memberCondition } from "../../src/backends/oracle/metadata.ts";
import { PREPARE_SESSION } from "../../src/backends/oracle/open-pool.ts";
import { COLUMNS_OF, MAY_CREATE } from "../../src/backends/oracle/prepare-tables.ts";
import { statements } from "../../src/backends/oracle/statements.ts";

/** Every text that the backend can send for these tables; of appends, every shape with up to two records of a kind. */
export function everyStatement(tableName: string): ReadonlySet<string> {
  const names = tableNames(tableName);
  const sql = statements(names);
  const conditions = ['"text"', "1", "true"].map((value) => memberCondition("t.metadata", "a key", value)?.condition);
  const readings = [
    ...Object.values(sql).filter((each) => typeof each === "object"),
    sql.threads(),
    ...conditions.map((condition) => sql.threads(` AND (t.unindexed = 1 OR ${condition})`)),
  ];
  return new Set([
    ...Object.values(sql).filter((each) => typeof each === "string"),
    ...readings.flatMap(({ short, long }) => [short, long]),
    ...everyShape().map((shape) => appendBlock(names, shape)),
    ...oracleDdl({ tableName, role: "APP" }),
    `SELECT part, version FROM ${names.version}`,
    FACTS_OF_SESSION,
    PREPARE_SESSION,
    MAY_CREATE,
    COLUMNS_OF,
  ]);
}

function everyShape(): readonly AppendShape[] {
  const both = [false, true];
  const counts = [
    [0, 1],
    [0, 2],
    [1, 1],
    [2, 0],
  ] as const;
  return both
    .flatMap((drops) =>
      both.flatMap((named) =>
        both.flatMap((ownHead) =>
          counts.map(([replaced, added]) => ({ replaced, added, drops, named, ownHead, continues: false })),
        ),
      ),
    )
    .concat(both.map((named) => ({ replaced: 1, added: 1, drops: false, named, ownHead: true, continues: true })));
}
