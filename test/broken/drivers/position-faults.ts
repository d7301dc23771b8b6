import type { AppendOutcome, AppendRequest, LogEntry } from "../../../src/checkpoint/log/thread-log.ts";
import type { DriverFault } from "./fault.ts";
import { ReferenceLog } from "./reference-log.ts";

const STRAY = "an append whose numbers point outside its thread is INVALID_ARGUMENT, and no thread changes";

/** Mends what the contract refuses before the driver below sees it, as a driver without a check would take it. */
const taking =
  (mend: (request: AppendRequest) => AppendRequest) => (inner: ConstructorParameters<typeof ReferenceLog>[0]) =>
    new (class extends ReferenceLog {
      override append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
        return super.append(threadId, mend(request));
      }
    })(inner);

const within = (value: number, least: number, most: number): number =>
  value >= least && value <= most && Number.isSafeInteger(value) ? value : least;

export const positionFaults: readonly DriverFault[] = [
  {
    fault: "takes any number for a head",
    driver: taking((request) => ({
      ...request,
      record: { ...request.record, head: within(request.record.head, 0, request.record.seq) },
    })),
    caughtBy: [STRAY],
  },
  {
    fault: "takes any number for a base",
    driver: taking((request) => ({
      ...request,
      record: { ...request.record, base: within(request.record.base, 1, request.record.seq) },
    })),
    caughtBy: [STRAY],
  },
  {
    fault: "ignores drops of positions that are not there",
    driver: taking((request) => ({
      ...request,
      drop: [...new Set(request.drop?.filter((seq) => within(seq, 0, request.expected.seq) > 0))],
    })),
    caughtBy: [
      STRAY,
      "a record neither replaces nor drops itself, and says of no record that it is its head before it is a checkpoint",
    ],
  },
  {
    fault: "ignores replacements of positions that are not there",
    driver: taking(({ replace = [], ...request }) => ({
      ...request,
      replace: replace.filter(({ seq }) => within(seq, 0, request.expected.seq) > 0),
    })),
    caughtBy: [STRAY],
  },
  {
    fault: "drops everything where dropBelow is too large",
    driver: taking(({ dropBelow, ...request }) => ({
      ...request,
      ...(dropBelow !== undefined && { dropBelow: within(dropBelow, 1, request.record.seq) }),
    })),
    caughtBy: [STRAY],
  },
  {
    fault: "joins a thread's number and a position to one key, and lists over the end of a thread",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async list(
          threadId: string,
          options: { before?: number; limit: number },
        ): Promise<readonly LogEntry[]> {
          const own = await super.list(threadId, options);
          if ((options.before ?? 0) < 2 ** 26) return own;
          const { items } = await this.listThreads({ prefix: "", limit: 100 });
          const others = items.filter((thread) => thread.threadId !== threadId).map(({ head }) => head);
          return [...others, ...own].slice(0, options.limit);
        }
      })(inner),
    caughtBy: ["no number in a listing or a removal reaches another thread"],
  },
];
