import { type AppendShape, appendBlock } from "../../src/backends/oracle/append-block.ts";
import { oracleDdl } from "../../src/backends/oracle/ddl.ts";
import { FACTS_OF_SESSION } from "../../src/backends/oracle/handle.ts";
import { saverTableNames, type TableNames, tableNames } from "../../src/backends/oracle/layout.ts";
import { PREPARE_SESSION } from "../../src/backends/oracle/open-pool.ts";
import { COLUMNS_OF, MAY_CREATE } from "../../src/backends/oracle/prepare-tables.ts";
import { dialect, statements, WORD_LISTS } from "../../src/backends/oracle/statements.ts";
import { clearBlock, writeBlock } from "../../src/backends/oracle/store-block.ts";
import {
  COLUMNS,
  rendered,
  STORE_NOW,
  storeDialect,
  textQuery,
  vectorQuery,
} from "../../src/backends/oracle/store-dialect.ts";
import { type StoreTables, storeTables } from "../../src/backends/oracle/store-layout.ts";
import { INDEX_OF } from "../../src/backends/oracle/vector-index.ts";
import { withMember } from "../../src/checkpoint/sql-log/members.ts";
import { reads } from "../../src/checkpoint/sql-log/reads.ts";
import { searchStatements } from "../../src/checkpoint/sql-log/words-table.ts";
import type { Condition } from "../../src/store/driver/store-driver.ts";
import * as queries from "../../src/store/sql-store/queries.ts";
import type { Sql } from "../../src/store/sql-store/sql.ts";

/** Every text that the backend can send for these tables; of appends, every shape with up to two records of a kind. */
export function everyStatement(tableName: string): ReadonlySet<string> {
  return new Set([
    ...everyStatementOfLog(tableNames(tableName)),
    ...everyStatementOfLog(saverTableNames(tableName)),
    ...oracleDdl({ tableName, role: "APP" }),
    ...oracleDdl({ of: "saver", tableName, role: "APP" }),
    ...oracleDdl({ of: "store", tableName: `${tableName}_STORE`, role: "APP", dimension: 1024, vectorIndex: "hnsw" }),
    ...oracleDdl({ of: "store", tableName: `${tableName}_STORE`, role: "APP", dimension: 3, vectorIndex: "ivf" }),
    ...everyStatementOfStore(storeTables(`${tableName}_STORE`)),
    FACTS_OF_SESSION,
    PREPARE_SESSION,
    MAY_CREATE,
    COLUMNS_OF,
    INDEX_OF,
  ]);
}

function everyStatementOfLog(names: TableNames): readonly string[] {
  const { index, ...sql } = statements(names);
  const dialects = [dialect(false), dialect(true)];
  const queries = dialects.flatMap((each) => [
    ...Object.values(reads(each, names)),
    ...Object.values(withMember(each, names)),
    ...WORD_LISTS.listCounts.flatMap((lists) => Object.values(searchStatements(each, names)(lists))),
  ]);
  return [
    ...Object.values(sql),
    ...queries.map(({ text }) => text),
    ...everyShape().map((shape) => appendBlock(names, shape)),
    ...[index(0), index(1), index(2)],
    `SELECT part, version FROM ${names.version}`,
  ];
}

/** Blocks of writes with up to two changes; queries with every form that a scope or a filter takes. */
function everyStatementOfStore(tables: StoreTables): readonly string[] {
  const id = { namespace: ["a", "b"], key: "k" };
  const kinds = [["put"], ["remove"], ["put", "remove"]] as const;
  const blocks = kinds.flatMap((each) =>
    [false, true].flatMap((hasVectors) => [
      writeBlock(tables, { locks: true, checks: true, applies: true, kinds: each, hasVectors }),
      writeBlock(tables, { locks: true, checks: true, applies: false, kinds: each, hasVectors }),
      writeBlock(tables, { locks: false, checks: true, applies: false, kinds: each, hasVectors }),
      writeBlock(tables, { locks: false, checks: false, applies: true, kinds: each, hasVectors }),
    ]),
  );
  const vector = Float32Array.of(1, 2, 3);
  const dialect = storeDialect(tables);
  const scopes = everyScope().map((scope) => queries.within(dialect, scope).sql);
  const readings = scopes.flatMap((inside) => [
    queries.scanQuery(dialect, inside, undefined, 10),
    queries.scanQuery(dialect, inside, id, 10),
    textQuery(tables, inside, ["one", "two"], 10),
    vectorQuery(tables, inside, vector, { most: 10, approximate: false }),
    vectorQuery(tables, inside, vector, { most: 10, approximate: true }),
  ]);
  const all = [...readings, queries.readQuery(dialect, [id]), queries.readQuery(dialect, [id, id])];
  const others: readonly Sql[] = [
    ...all.flatMap((query) => [query(COLUMNS.short), query(COLUMNS.long)]),
    ...scopes.map((inside) => queries.countVectorsQuery(dialect, inside, undefined, 10)),
    ...[undefined, ["a"]].map((after) => queries.namespacesQuery(dialect, ["a"], after, 10)),
    queries.namespacesQuery(dialect, [], undefined, 10),
    queries.readVectorQuery(dialect, id),
    queries.dimensionQuery(dialect, []),
    STORE_NOW,
  ];
  return [
    ...blocks,
    ...others.map((statement) => rendered(statement).text),
    ...(["all", "own", "below"] as const).map((scope) => clearBlock(tables, scope)),
    `SELECT part, version FROM ${tables.version}`,
  ];
}

function everyScope() {
  const path = { of: "value", names: ["a", "b c"] } as const;
  const condition: Condition = {
    op: "and",
    of: [
      { op: "in", path, operands: ["x", 1, true] },
      {
        op: "or",
        of: [
          { op: "exists", path: { of: "metadata", names: ["m"] } },
          { op: "gt", path, operand: 1 },
        ],
      },
      { op: "in", path, operands: [] },
    ],
  };
  return [
    { namespace: [], recursive: true, condition: undefined },
    { namespace: ["a"], recursive: false, condition: undefined },
    { namespace: ["a"], recursive: true, condition },
  ];
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
