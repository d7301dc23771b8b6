import { LogLayer } from "../../src/checkpoint/log/log-layer.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import type { AwaitPoint } from "./fuse.ts";

type Storing = <T>(work: () => Promise<T>) => Promise<T>;

/** The driver with an await point before and after everything that the agent has it do. */
export function stoppingLog(
  log: ThreadLog,
  point: AwaitPoint,
  storing: Storing = (work) => work(),
  writing: Storing = storing,
): ThreadLog {
  const around = async <T>(name: string, work: () => Promise<T>, by: Storing = storing): Promise<T> => {
    await point(`before ${name}`);
    const answer = await by(work);
    await point(`after ${name}`);
    return answer;
  };
  return new (class extends LogLayer {
    override append: ThreadLog["append"] = (...given) => around("append", () => log.append(...given), writing);
    override readTail: ThreadLog["readTail"] = (...given) => around("load", () => log.readTail(...given));
    override tail: ThreadLog["tail"] = (threadId) => around("tail", () => log.tail(threadId));
  })(log);
}
