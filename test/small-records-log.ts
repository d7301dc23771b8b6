import type { AppendRequest, ThreadLog } from "../src/checkpoint/log/thread-log.ts";

export interface SmallRecords {
  readonly log: ThreadLog;
  /** Every body that was ever handed to the driver, in bytes. */
  readonly written: number[];
}

/** Any driver, on a storage that takes only small records and says so. A larger one is a fault of the caller. */
export function smallRecords(log: ThreadLog, maxRecordBytes: number): SmallRecords {
  const written: number[] = [];
  const append = (threadId: string, request: AppendRequest): ReturnType<ThreadLog["append"]> => {
    for (const { seq, body } of [request.record, ...(request.replace ?? [])]) {
      if (body.byteLength > maxRecordBytes) throw new Error(`record ${seq} has ${body.byteLength} bytes`);
      written.push(body.byteLength);
    }
    return log.append(threadId, request);
  };
  const small = new Proxy(log, {
    get: (target, key): unknown => {
      if (key === "append") return append;
      if (key === "capabilities") return { ...target.capabilities, maxRecordBytes };
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { log: small, written };
}
