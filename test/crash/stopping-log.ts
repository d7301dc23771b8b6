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
  return {
    name: log.name,
    capabilities: log.capabilities,
    append: (threadId, request) => around("append", () => log.append(threadId, request), writing),
    readTail: (threadId, options) => around("load", () => log.readTail(threadId, options)),
    readCheckpoint: (threadId, name) => log.readCheckpoint(threadId, name),
    readRecords: (threadId, options) => log.readRecords(threadId, options),
    entry: (threadId, name) => log.entry(threadId, name),
    tail: (threadId) => around("tail", () => log.tail(threadId)),
    list: (threadId, options) => log.list(threadId, options),
    remove: (threadId, ifTail) => log.remove(threadId, ifTail),
    copy: (source, target, generation) => log.copy(source, target, generation),
    listThreads: (options) => log.listThreads(options),
    classify: (error) => log.classify(error),
    close: () => log.close(),
  };
}
