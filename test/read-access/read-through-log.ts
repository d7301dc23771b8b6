import { LogLayer } from "../../src/checkpoint/log/log-layer.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";

/**
 * Writes through one log and reads through another on the same storage, so that
 * the whole suite of drivers proves a reader that cannot write.
 */
export class ReadThroughLog extends LogLayer {
  override readonly name: string;
  readonly #writer: ThreadLog;
  readonly #written: () => Promise<unknown>;

  /** `written` is called after every write, where a reader has to wait until it sees one. */
  constructor(writer: ThreadLog, reader: ThreadLog, written: () => Promise<unknown> = async () => undefined) {
    super(reader);
    this.name = `${reader.name}, read only`;
    this.#writer = writer;
    this.#written = written;
  }

  override async connect(): Promise<void> {
    await this.#writer.connect();
    await super.connect();
  }

  override append(...given: Parameters<ThreadLog["append"]>): ReturnType<ThreadLog["append"]> {
    return this.#writer.append(...given).finally(this.#written);
  }

  override remove(...given: Parameters<ThreadLog["remove"]>): ReturnType<ThreadLog["remove"]> {
    return this.#writer.remove(...given).finally(this.#written);
  }

  override copy(...given: Parameters<ThreadLog["copy"]>): ReturnType<ThreadLog["copy"]> {
    return this.#writer.copy(...given).finally(this.#written);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#writer.close();
  }
}
