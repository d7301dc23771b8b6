import type { StoreTables } from "./store-layout.ts";

/** Version 1 of the part `store`. This text is frozen, and every statement may run twice: see prepare-tables.ts. */
export const storeV1 = ({ items, words, buckets, recent }: StoreTables): readonly string[] => [
  `CREATE TABLE ${items} (
  namespace VARCHAR2(1088 BYTE) NOT NULL,
  key VARCHAR2(1024 BYTE) NOT NULL,
  id VARCHAR2(64 BYTE) NOT NULL UNIQUE,
  bucket NUMBER(4) NOT NULL,
  version VARCHAR2(64 BYTE) NOT NULL,
  created_at TIMESTAMP(3) NOT NULL,
  updated_at TIMESTAMP(3) NOT NULL,
  expires_at TIMESTAMP(3),
  value VARCHAR2(4000 BYTE),
  metadata VARCHAR2(4000 BYTE),
  lengthy NUMBER(1) NOT NULL,
  unindexed NUMBER(1),
  word_count NUMBER(10) NOT NULL,
  long_value CLOB,
  long_metadata CLOB,
  PRIMARY KEY (namespace, key)
)`,
  `CREATE INDEX ${items}_BY_EXPIRY ON ${items} (expires_at, bucket)`,
  `CREATE TABLE ${words} (
  item VARCHAR2(64 BYTE) NOT NULL REFERENCES ${items} (id) ON DELETE CASCADE,
  word VARCHAR2(1024 BYTE) NOT NULL,
  weight NUMBER NOT NULL,
  PRIMARY KEY (item, word)
)`,
  `CREATE INDEX ${words}_BY_WORD ON ${words} (word, item, weight)`,
  `CREATE TABLE ${buckets} (bucket NUMBER(4) NOT NULL PRIMARY KEY) PCTFREE 20 INITRANS 64`,
  `INSERT INTO ${buckets} (bucket) SELECT LEVEL - 1 FROM dual CONNECT BY LEVEL <= 64`,
  `CREATE TABLE ${recent} (
  write_key VARCHAR2(64 BYTE) NOT NULL PRIMARY KEY,
  bucket NUMBER(4) NOT NULL,
  digest VARCHAR2(64 BYTE) NOT NULL,
  version VARCHAR2(64 BYTE),
  created_at TIMESTAMP(3) NOT NULL,
  updated_at TIMESTAMP(3) NOT NULL,
  expires_at TIMESTAMP(3)
)`,
  `CREATE INDEX ${recent}_BY_TIME ON ${recent} (bucket, updated_at)`,
];

export const storeColumnsV1 = ({
  items,
  words,
  buckets,
  recent,
}: StoreTables): Readonly<Record<string, readonly string[]>> => ({
  [items]: [
    ...["NAMESPACE", "KEY", "ID", "BUCKET", "VERSION", "CREATED_AT", "UPDATED_AT", "EXPIRES_AT", "VALUE", "METADATA"],
    ...["LENGTHY", "UNINDEXED", "WORD_COUNT", "LONG_VALUE", "LONG_METADATA"],
  ],
  [words]: ["ITEM", "WORD", "WEIGHT"],
  [buckets]: ["BUCKET"],
  [recent]: ["WRITE_KEY", "BUCKET", "DIGEST", "VERSION", "CREATED_AT", "UPDATED_AT", "EXPIRES_AT"],
});

export const storeGrantsV1 = ({ items, words, buckets, recent }: StoreTables, role: string): readonly string[] =>
  [items, words, buckets, recent].map((table) => `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${role}`);

/** Version 1 of the part `vectors`, for stores with a `dimension`: 23ai and later. */
export const vectorsV1 = ({ items }: StoreTables, dimension: number): readonly string[] => [
  `ALTER TABLE ${items} ADD (embedding VECTOR(${dimension}, FLOAT32))`,
];
