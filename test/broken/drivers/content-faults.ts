import type {
  AppendOutcome,
  AppendRequest,
  KnownPlace,
  LogChain,
  LogEntry,
  LogPage,
  LogRecord,
  ThreadEntry,
  ThreadLog,
} from "../../../src/checkpoint/log/thread-log.ts";
import type { DriverFault } from "./fault.ts";
import { ReferenceLog } from "./reference-log.ts";

/** Changes every record on its way in. */
const changingRecords =
  (change: (record: LogRecord) => LogRecord) =>
  (inner: ThreadLog): ReferenceLog =>
    new (class extends ReferenceLog {
      override append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
        const replace = request.replace?.map(change);
        return super.append(threadId, { ...request, record: change(request.record), ...(replace && { replace }) });
      }
    })(inner);

/** Uses another id than the one it was given. */
const changingIds =
  (change: (id: string) => string) =>
  (inner: ThreadLog): ReferenceLog =>
    new (class extends ReferenceLog {
      override append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
        return super.append(change(threadId), request);
      }
      override readTail(threadId: string): Promise<LogChain | undefined> {
        return super.readTail(change(threadId));
      }
      override readCheckpoint(threadId: string, checkpointId: string): Promise<LogChain | undefined> {
        return super.readCheckpoint(change(threadId), checkpointId);
      }
      override entry(threadId: string, checkpointId: string): Promise<LogEntry | undefined> {
        return super.entry(change(threadId), checkpointId);
      }
      override tail(threadId: string): Promise<{ generation: string; entry: LogEntry } | undefined> {
        return super.tail(change(threadId));
      }
      override list(threadId: string, options: { before?: number; limit: number }): Promise<readonly LogEntry[]> {
        return super.list(change(threadId), options);
      }
      override remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
        return super.remove(change(threadId), ifTail);
      }
      override copy(source: string, target: string, generation: string): ReturnType<ThreadLog["copy"]> {
        return super.copy(change(source), change(target), generation);
      }
    })(inner);

const OWN_THREAD = "every hostile id is a thread of its own";
const LISTED = "every hostile id is listed as it was given";
const LONGEST =
  "the longest thread id is taken whole: 1088 bytes, or as many as a layer says that leave users their 1024";

const stating = (inner: ThreadLog, maxThreadIdBytes: number): ReferenceLog =>
  new (class extends ReferenceLog {
    override readonly capabilities = { ...inner.capabilities, maxThreadIdBytes };
  })(inner);

export const contentFaults: readonly DriverFault[] = [
  {
    fault: "stores bodies as text and loses bytes above 127",
    driver: changingRecords((record) => ({ ...record, body: Buffer.from(Buffer.from(record.body).toString("utf8")) })),
    caughtBy: ["every byte of a body survives", "a body of two megabytes survives"],
  },
  {
    fault: "ends a body at its first zero",
    driver: changingRecords((record) => ({ ...record, body: record.body.subarray(0, record.body.indexOf(0) >>> 0) })),
    caughtBy: ["every byte of a body survives"],
  },
  {
    fault: "cuts bodies at a megabyte",
    driver: changingRecords((record) => ({ ...record, body: record.body.subarray(0, 1024 * 1024) })),
    caughtBy: ["a body of two megabytes survives"],
  },
  {
    fault: "cuts metadata at an escaped NUL",
    driver: changingRecords((record) => ({ ...record, metadata: record.metadata?.split("\\u0000")[0] })),
    caughtBy: ["metadata comes back character by character"],
  },
  {
    fault: "stores metadata parsed, and writes it anew",
    driver: changingRecords((record) => ({
      ...record,
      metadata: record.metadata && JSON.stringify(JSON.parse(record.metadata)),
    })),
    caughtBy: ["metadata comes back character by character"],
  },
  {
    fault: "normalises the text of headers",
    driver: changingRecords((record) => ({ ...record, header: record.header.normalize("NFC") })),
    caughtBy: ["headers come back character by character"],
  },
  {
    fault: "takes empty metadata for none",
    driver: changingRecords((record) => ({
      ...record,
      metadata: record.metadata === "{}" ? undefined : record.metadata,
    })),
    caughtBy: ["no metadata, empty metadata and no checkpoint id stay what they are"],
  },
  {
    fault: "hands out the memory it was handed",
    driver: (inner) =>
      new (class extends ReferenceLog {
        readonly #bodies = new Map<string, Uint8Array>();
        override append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          this.#bodies.set(request.record.writeId, request.record.body);
          return super.append(threadId, request);
        }
        override async readTail(threadId: string): Promise<LogChain | undefined> {
          const chain = await super.readTail(threadId);
          const shared = (record: LogRecord): LogRecord => ({
            ...record,
            body: this.#bodies.get(record.writeId) ?? record.body,
          });
          return chain && { ...chain, records: chain.records.map(shared) };
        }
      })(inner),
    caughtBy: [
      "the caller's bytes and the stored bytes are not the same memory",
      "a copy and its source do not share memory",
    ],
  },
  { fault: "lower-cases ids", driver: changingIds((id) => id.toLowerCase()), caughtBy: [OWN_THREAD, LISTED] },
  { fault: "normalises ids", driver: changingIds((id) => id.normalize("NFC")), caughtBy: [OWN_THREAD, LISTED] },
  { fault: "trims ids", driver: changingIds((id) => id.trim() || id), caughtBy: [OWN_THREAD, LISTED] },
  {
    fault: "cuts ids at 255 characters",
    driver: changingIds((id) => id.slice(0, 255)),
    caughtBy: [OWN_THREAD, LISTED],
  },
  {
    fault: "leaves less room for a tenant's name than a service needs",
    driver: changingIds((id) => Buffer.from(id).subarray(0, 1087).toString()),
    caughtBy: [LONGEST],
  },
  {
    fault: "states a limit that leaves users less than they may give",
    driver: (inner) => stating(inner, 1000),
    caughtBy: [LONGEST],
  },
  {
    fault: "takes longer ids than it says",
    driver: (inner) => stating(inner, 1040),
    caughtBy: ["a thread id that is longer than the log says it takes is INVALID_ARGUMENT"],
  },
  {
    fault: "replaces what is unsafe in a file name",
    driver: changingIds((id) => id.replace(/[^A-Za-z0-9-]/gu, "_")),
    caughtBy: [OWN_THREAD, LISTED, "a removal touches no other thread"],
  },
  {
    fault: "decodes ids as if they came from a URL",
    driver: changingIds((id) => (/^(?:[^%]|%[0-7][0-9a-f])*$/i.test(id) ? decodeURIComponent(id) : id)),
    caughtBy: [OWN_THREAD, LISTED],
  },
  {
    fault: "joins thread and checkpoint with a colon",
    driver: (inner) =>
      new (class extends ReferenceLog {
        readonly #entries = new Map<string, LogEntry>();
        override append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          for (const record of [request.record, ...(request.replace ?? [])]) {
            this.#entries.set(`${threadId}:${record.checkpointId}`, record);
          }
          return super.append(threadId, request);
        }
        override async entry(threadId: string, checkpointId: string): Promise<LogEntry | undefined> {
          return (await super.entry(threadId, checkpointId)) && this.#entries.get(`${threadId}:${checkpointId}`);
        }
      })(inner),
    caughtBy: ["a thread and a checkpoint are never told apart by a joined string"],
  },
  {
    fault: "keeps one table of checkpoint ids for all threads",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async entry(threadId: string, checkpointId: string): Promise<LogEntry | undefined> {
          const all: LogPage<ThreadEntry> = await this.listThreads({ prefix: "", limit: 1000 });
          for (const thread of all.items) {
            const found = await super.entry(thread.threadId, checkpointId);
            if (found !== undefined) return found;
          }
          return super.entry(threadId, checkpointId);
        }
      })(inner),
    caughtBy: [
      "the same checkpoint ids may occur in every thread",
      "a checkpoint that is not there, or is in another thread, reads as undefined",
    ],
  },
];
