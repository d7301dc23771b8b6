import type { SaverTables, TableNames } from "./layout.ts";

/** Version 1 of the part `saver`. Frozen text, like that of the part `checkpoints`, whose tables exist before. */
export const saverV1 = ({ threads }: TableNames, { checkpoints, writes }: SaverTables): readonly string[] => [
  `CREATE TABLE ${checkpoints} (
  thread_id VARCHAR2(1088 BYTE) NOT NULL REFERENCES ${threads} ON DELETE CASCADE,
  checkpoint_ns VARCHAR2(1025 BYTE) NOT NULL,
  checkpoint_id VARCHAR2(1024 BYTE) NOT NULL,
  parent_checkpoint_id VARCHAR2(1024 BYTE),
  created_at TIMESTAMP(3),
  metadata CLOB CHECK (metadata IS JSON),
  seq NUMBER(16) NOT NULL,
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
)`,
  `CREATE TABLE ${writes} (
  thread_id VARCHAR2(1088 BYTE) NOT NULL REFERENCES ${threads} ON DELETE CASCADE,
  checkpoint_ns VARCHAR2(1025 BYTE) NOT NULL,
  checkpoint_id VARCHAR2(1024 BYTE) NOT NULL,
  task_id VARCHAR2(1024 BYTE) NOT NULL,
  idx NUMBER(10) NOT NULL,
  channel VARCHAR2(1024 BYTE),
  seq NUMBER(16) NOT NULL,
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
)`,
];

export const saverColumnsV1 = ({ checkpoints, writes }: SaverTables): Readonly<Record<string, readonly string[]>> => ({
  [checkpoints]: [
    ...["THREAD_ID", "CHECKPOINT_NS", "CHECKPOINT_ID", "PARENT_CHECKPOINT_ID", "CREATED_AT", "METADATA", "SEQ"],
  ],
  [writes]: ["THREAD_ID", "CHECKPOINT_NS", "CHECKPOINT_ID", "TASK_ID", "IDX", "CHANNEL", "SEQ"],
});

export const saverGrantsV1 = ({ checkpoints, writes }: SaverTables, role: string): readonly string[] =>
  [checkpoints, writes].map((table) => `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${role}`);
