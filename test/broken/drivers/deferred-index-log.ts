import type { LogRecord, SearchHit, SearchRange, ThreadLog } from "../../../src/checkpoint/log/thread-log.ts";
import { ReferenceLog } from "./reference-log.ts";

/** A correct driver that indexes after its appends, when it is asked to. */
export class DeferredIndexLog extends ReferenceLog {
  #words = new Map<string, string>();

  constructor(inner: ThreadLog) {
    super(inner, "deferred");
  }

  override async catchUp(wordsOf: (record: LogRecord) => string | undefined): Promise<void> {
    await this.indexOnce(wordsOf);
  }

  /** Says whether there was anything to index. */
  async indexOnce(wordsOf: (record: LogRecord) => string | undefined): Promise<boolean> {
    const words = new Map<string, string>();
    for (const { threadId, record } of await this.everyRecord()) {
      words.set(placeOf(threadId, record), wordsOf(record) ?? "");
    }
    const isNew = [...words].some(([place, text]) => this.#words.get(place) !== text);
    this.#words = words;
    return isNew;
  }

  override async hits(words: readonly string[], { limit, prefix = "" }: SearchRange): Promise<readonly SearchHit[]> {
    const hits: SearchHit[] = [];
    for (const { threadId, record } of await this.everyRecord()) {
      const said = this.#words.get(placeOf(threadId, record))?.split(" ") ?? [];
      const isHit = words.every((word) => said.some((candidate) => candidate.startsWith(word)));
      if (isHit && threadId.startsWith(prefix)) hits.push({ threadId, entry: record, score: 1 / said.length });
    }
    return hits.sort((a, b) => b.score - a.score).slice(0, limit);
  }
}

const placeOf = (threadId: string, { seq, header, body }: LogRecord): string =>
  JSON.stringify([threadId, seq, header, Buffer.from(body).toString("utf8")]);
