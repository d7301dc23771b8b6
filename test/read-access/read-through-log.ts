import type { LogCapabilities, ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import type { ErrorCode } from "../../src/errors.ts";

/**
 * Writes through one log and reads through another on the same storage, so that
 * the whole suite of drivers proves a reader that cannot write.
 */
export class ReadThroughLog implements ThreadLog {
  readonly name: string;
  readonly connect?: NonNullable<ThreadLog["connect"]>;
  readonly search?: NonNullable<ThreadLog["search"]>;
  readonly queryMetadata?: NonNullable<ThreadLog["queryMetadata"]>;
  readonly subscribe?: NonNullable<ThreadLog["subscribe"]>;
  readonly now?: NonNullable<ThreadLog["now"]>;
  readonly #writer: ThreadLog;
  readonly #reader: ThreadLog;
  readonly #written: () => Promise<unknown>;

  /** `written` is called after every write, where a reader has to wait until it sees one. */
  constructor(writer: ThreadLog, reader: ThreadLog, written: () => Promise<unknown> = async () => undefined) {
    this.name = `${reader.name}, read only`;
    this.#writer = writer;
    this.#reader = reader;
    this.#written = written;
    if (writer.connect !== undefined || reader.connect !== undefined) {
      this.connect = async () => {
        await writer.connect?.();
        await reader.connect?.();
      };
    }
    if (reader.search !== undefined) this.search = reader.search.bind(reader);
    if (reader.queryMetadata !== undefined) this.queryMetadata = reader.queryMetadata.bind(reader);
    if (reader.subscribe !== undefined) this.subscribe = reader.subscribe.bind(reader);
    if (reader.now !== undefined) this.now = reader.now.bind(reader);
  }

  get capabilities(): LogCapabilities {
    return this.#reader.capabilities;
  }

  append(...given: Parameters<ThreadLog["append"]>): ReturnType<ThreadLog["append"]> {
    return this.#writer.append(...given).finally(this.#written);
  }

  remove(...given: Parameters<ThreadLog["remove"]>): ReturnType<ThreadLog["remove"]> {
    return this.#writer.remove(...given).finally(this.#written);
  }

  copy(...given: Parameters<ThreadLog["copy"]>): ReturnType<ThreadLog["copy"]> {
    return this.#writer.copy(...given).finally(this.#written);
  }

  readTail(...given: Parameters<ThreadLog["readTail"]>): ReturnType<ThreadLog["readTail"]> {
    return this.#reader.readTail(...given);
  }

  readCheckpoint(...given: Parameters<ThreadLog["readCheckpoint"]>): ReturnType<ThreadLog["readCheckpoint"]> {
    return this.#reader.readCheckpoint(...given);
  }

  readRecords(...given: Parameters<ThreadLog["readRecords"]>): ReturnType<ThreadLog["readRecords"]> {
    return this.#reader.readRecords(...given);
  }

  entry(...given: Parameters<ThreadLog["entry"]>): ReturnType<ThreadLog["entry"]> {
    return this.#reader.entry(...given);
  }

  tail(...given: Parameters<ThreadLog["tail"]>): ReturnType<ThreadLog["tail"]> {
    return this.#reader.tail(...given);
  }

  list(...given: Parameters<ThreadLog["list"]>): ReturnType<ThreadLog["list"]> {
    return this.#reader.list(...given);
  }

  listThreads(...given: Parameters<ThreadLog["listThreads"]>): ReturnType<ThreadLog["listThreads"]> {
    return this.#reader.listThreads(...given);
  }

  classify(error: unknown): ErrorCode | undefined {
    return this.#reader.classify(error);
  }

  async close(): Promise<void> {
    await this.#reader.close();
    await this.#writer.close();
  }
}
