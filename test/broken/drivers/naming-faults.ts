import { carries, placeOfTail } from "../../../src/checkpoint/log/driver-rules.ts";
import type {
  AppendOutcome,
  AppendRequest,
  KnownPlace,
  LogChain,
  LogEntry,
  LogRecord,
} from "../../../src/checkpoint/log/thread-log.ts";
import { hintedSeq } from "../../../src/driver/ids.ts";
import type { DriverFault } from "./fault.ts";
import { ReferenceLog } from "./reference-log.ts";

type Newer = { newerThan?: KnownPlace };
type Range = { before?: number; limit: number };

function nameless({ names: _, ...record }: LogRecord): LogRecord {
  return record;
}

export const namingFaults: readonly DriverFault[] = [
  {
    fault: "finds the oldest record of a name",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async entry(threadId: string, name: string): Promise<LogEntry | undefined> {
          const all = await this.readRecords(threadId, { limit: 1000 });
          return all?.records.find((record) => carries(record, name));
        }
      })(inner),
    caughtBy: ["of several records with one name the newest is found, whether it is a first name or a further one"],
  },
  {
    fault: "takes whatever lies at the position that a name ends with",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async entry(threadId: string, name: string): Promise<LogEntry | undefined> {
          const all = await this.readRecords(threadId, { limit: 1000 });
          return all?.records.find(({ seq }) => seq === hintedSeq(name)) ?? super.entry(threadId, name);
        }
      })(inner),
    caughtBy: ["a name that ends with a position finds the newest record that has it, wherever that lies"],
  },
  {
    fault: "looks for a name only at the position that it ends with",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
          const chain = await super.readCheckpoint(threadId, name);
          const hinted = hintedSeq(name);
          return hinted === undefined || chain?.records.at(-1)?.seq === hinted ? chain : undefined;
        }
      })(inner),
    caughtBy: ["a name that ends with a position finds the newest record that has it, wherever that lies"],
  },
  {
    fault: "keeps first names only",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const { record, replace = [] } = request;
          return super.append(threadId, { ...request, record: nameless(record), replace: replace.map(nameless) });
        }
      })(inner),
    caughtBy: [
      "a record is found by each of its names, and they are handed out as they were given",
      "a record may have further names and no checkpoint id: it is found and not listed",
      "when the newest record of a name is dropped, the one before has it again",
      "a replaced record has its new names and not the old ones",
      "names belong to their thread, go with it and come with its copy",
      "a record takes as many names as it may have, and no more",
    ],
  },
  {
    fault: "takes the newest checkpoint for the head",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async listThreads(options: {
          prefix: string;
          limit: number;
        }): ReturnType<ReferenceLog["listThreads"]> {
          const { items, cursor } = await super.listThreads(options);
          const heads = items.map(async ({ threadId, head }) => {
            const [newest = head] = await this.list(threadId, { limit: 1 });
            return { threadId, head: newest };
          });
          return { items: await Promise.all(heads), cursor };
        }
      })(inner),
    caughtBy: [
      "a head may be any earlier checkpoint: it is what listings show, and the list shows what is above it too",
    ],
  },
  {
    fault: "lists nothing above the head",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async list(threadId: string, options: Range): Promise<readonly LogEntry[]> {
          const head = (await this.tail(threadId))?.entry.head ?? 0;
          const { before = head + 1 } = options;
          return super.list(threadId, { ...options, before: Math.min(before, head + 1) });
        }
      })(inner),
    caughtBy: [
      "a head may be any earlier checkpoint: it is what listings show, and the list shows what is above it too",
    ],
  },
  {
    fault: "appends several records one by one",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async append(threadId: string, { more = [], ...request }: AppendRequest): Promise<AppendOutcome> {
          const outcome = await super.append(threadId, request);
          const { generation } = request.expected;
          let entry = request.record;
          for (const record of outcome.appended ? more : []) {
            await super.append(threadId, { expected: placeOfTail({ generation, entry }), record });
            entry = record;
          }
          return outcome;
        }
      })(inner),
    caughtBy: ["a reader never sees a part of several records, and of two such appends exactly one wins"],
  },
  {
    fault: "appends the first of several records",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override append(threadId: string, { more: _, ...request }: AppendRequest): Promise<AppendOutcome> {
          return super.append(threadId, request);
        }
      })(inner),
    caughtBy: [
      "records that are appended together are all there, in their order",
      "records that are appended together may build on one another, and come with edits of older ones",
      "as many records as one append may bring are taken, and no more; one that does not follow is refused",
      "records that are appended together are refused together, and the first position tells who is there",
    ],
  },
  {
    fault: "returns the whole chain to a caller that knows a part of it",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override readTail(threadId: string): Promise<LogChain | undefined> {
          return super.readTail(threadId);
        }
      })(inner),
    caughtBy: ["a reader that names a place in the thread is given only what is newer"],
  },
  {
    fault: "goes by the position that a reader knows and not by its generation",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async readTail(threadId: string, { newerThan }: Newer = {}): Promise<LogChain | undefined> {
          const generation = (await this.tail(threadId))?.generation ?? "";
          return super.readTail(threadId, newerThan && { newerThan: { ...newerThan, generation } });
        }
      })(inner),
    caughtBy: ["a place that is not in the thread any more gives the whole chain"],
  },
  {
    fault: "reads only records that are checkpoints",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async readRecords(threadId: string, options: Range): Promise<LogChain | undefined> {
          const chain = await super.readRecords(threadId, options);
          return chain && { ...chain, records: chain.records.filter(({ checkpointId }) => checkpointId !== undefined) };
        }
      })(inner),
    caughtBy: ["records are read backwards in pages, those without a name too, whatever was dropped"],
  },
  {
    fault: "reads a page of any number of bytes",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async readRecords(threadId: string, options: Range): Promise<LogChain | undefined> {
          const chain = await super.readRecords(threadId, options);
          const first = chain?.records[0]?.seq ?? 0;
          const missing = options.limit - (chain?.records.length ?? 0);
          if (chain === undefined || first <= 1 || missing <= 0) return chain;
          const older = await this.readRecords(threadId, { before: first, limit: missing });
          return { ...chain, records: [...(older?.records ?? []), ...chain.records] };
        }
      })(inner),
    caughtBy: ["a page of large records holds fewer of them, and one at least"],
  },
];
