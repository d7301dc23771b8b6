import { readdirSync } from "node:fs";
import { join } from "node:path";
import { threadDirectoryName } from "../../src/backends/file/layout.ts";
import { FileLog } from "../../src/backends/file/log.ts";
import type { LogRecord } from "../../src/checkpoint/log/thread-log.ts";
import { requestFor, recordAt as sampleAt } from "../../src/testing/thread-log-cases/sample-records.ts";

/** With a body that is JSON, as that of a checkpoint is. */
export const recordAt = (seq: number, fields: Partial<LogRecord> = {}): LogRecord =>
  sampleAt(seq, { body: Buffer.from(`{"of":${seq}}`), ...fields });

export { requestFor };

export const seqsOf = (entries: readonly { readonly seq: number }[] = []): number[] => entries.map(({ seq }) => seq);

/** A thread "t" in a directory, and the files it is kept in. */
export class ThreadOnDisk {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  open(foldEvery = 64): FileLog {
    return new FileLog({ directory: this.directory, foldEvery });
  }

  async fill(log: FileLog, count: number, fields: Partial<LogRecord> = {}): Promise<void> {
    for (let seq = 1; seq <= count; seq++) await log.append("t", requestFor(recordAt(seq, fields)));
  }

  path(threadId = "t"): string {
    const thread = join(this.directory, threadDirectoryName(threadId));
    return join(thread, readdirSync(thread)[0] ?? "");
  }

  files(threadId = "t"): readonly string[] {
    return readdirSync(this.path(threadId))
      .filter((name) => name.endsWith(".json"))
      .sort();
  }

  /** The first file of its history. */
  segment(threadId = "t"): string {
    return join(this.path(threadId), this.files(threadId).find((name) => name.includes("-")) ?? "");
  }
}
