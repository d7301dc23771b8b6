import type {
  KnownPlace,
  LogEntry,
  LogPage,
  LogRecord,
  ThreadEntry,
  ThreadTail,
} from "../../../src/checkpoint/log/thread-log.ts";
import { placeAt } from "../../../src/testing/thread-log-cases/sample-records.ts";
import type { DriverFault } from "./fault.ts";
import { ReferenceLog } from "./reference-log.ts";

type Listing = { readonly prefix: string; readonly cursor?: string; readonly limit: number };
type Removal = ReturnType<ReferenceLog["remove"]>;
type Copy = ReturnType<ReferenceLog["copy"]>;

const EVERYTHING: Listing = { prefix: "", limit: Number.POSITIVE_INFINITY };

export const threadFaults: readonly DriverFault[] = [
  {
    fault: "leaves what lies past the thousandth record of a removed thread",
    driver: (inner) =>
      new (class extends ReferenceLog {
        readonly #left = new Map<string, readonly LogRecord[]>();
        override async remove(threadId: string, ...rest: [KnownPlace?]): Removal {
          const records = (await this.readTail(threadId))?.records ?? [];
          const removed = await super.remove(threadId, ...rest);
          if (removed === "removed") this.#left.set(threadId, records.slice(1000));
          return removed;
        }
        override async entry(threadId: string, checkpointId: string): Promise<LogEntry | undefined> {
          const left = this.#left.get(threadId)?.find((record) => record.checkpointId === checkpointId);
          return (await super.entry(threadId, checkpointId)) ?? left;
        }
      })(inner),
    caughtBy: ["a thread of more than a thousand records is read, listed, copied, shortened and removed whole"],
  },
  {
    fault: "removes whatever tail there is",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override remove(threadId: string): Removal {
          return super.remove(threadId);
        }
      })(inner),
    caughtBy: [
      "a removal that names another tail does nothing",
      "a removal that names the old generation leaves the new thread alone",
      "of an append and a removal that name the same tail exactly one happens",
    ],
  },
  {
    fault: "compares a tail without its generation",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async remove(threadId: string, ifTail?: KnownPlace): Removal {
          const generation = (await this.tail(threadId))?.generation;
          const same = ifTail && generation !== undefined ? { ...ifTail, generation } : ifTail;
          return super.remove(threadId, same);
        }
      })(inner),
    caughtBy: ["a removal that names the old generation leaves the new thread alone"],
  },
  {
    fault: "removes everything that begins with the id",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async remove(threadId: string, ...rest: [KnownPlace?]): Removal {
          const removed = await super.remove(threadId, ...rest);
          if (removed !== "removed") return removed;
          const below = await this.listThreads({ ...EVERYTHING, prefix: `${threadId}/` });
          for (const thread of below.items) await super.remove(thread.threadId);
          return removed;
        }
      })(inner),
    caughtBy: ["a removal touches no other thread"],
  },
  {
    fault: "copies newest first, so that the oldest becomes the head",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async copy(source: string, target: string, generation: string): Copy {
          const records = (await this.readTail(source))?.records.toReversed();
          if (records === undefined) return "no source";
          for (const [index, record] of records.entries()) {
            const head = record.checkpointId === undefined ? index : index + 1;
            const moved = { ...record, seq: index + 1, head, base: 1 };
            const outcome = await this.append(target, {
              expected: placeAt(index, generation, records[index - 1]?.writeId),
              record: moved,
            });
            if (!outcome.appended) return "target exists";
          }
          return "copied";
        }
      })(inner),
    caughtBy: [
      "a copy has the records of its source, positions and tail included, and a generation of its own",
      "a copy is listed in the order of its source",
      "a copy has the head of its source",
    ],
  },
  {
    fault: "copies over a thread that exists",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async copy(source: string, target: string, generation: string): Copy {
          if ((await this.tail(source)) !== undefined) await this.remove(target);
          return super.copy(source, target, generation);
        }
      })(inner),
    caughtBy: ["a target that exists is left alone"],
  },
  {
    fault: "makes a copy that outlives its source",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async copy(source: string, target: string, generation: string): Copy {
          const answer = await super.copy(source, target, generation);
          const chain = answer === "copied" ? await this.readTail(target) : undefined;
          if (chain === undefined) return answer;
          await this.remove(target);
          for (const [index, record] of chain.records.entries()) {
            const expected = placeAt(record.seq - 1, generation, chain.records[index - 1]?.writeId);
            await this.append(target, { expected, record });
          }
          return answer;
        }
      })(inner),
    caughtBy: ["the tail tells how long its thread has to live, and a copy has as long"],
  },
  {
    fault: "does not tell when a thread ends",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async tail(threadId: string): Promise<ThreadTail | undefined> {
          const { ttlMs: _, ...tail } = (await super.tail(threadId)) ?? {};
          return "entry" in tail ? (tail as ThreadTail) : undefined;
        }
      })(inner),
    caughtBy: ["the tail tells how long its thread has to live, and a copy has as long"],
  },
  {
    fault: "gives a copy the generation of its source",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async copy(source: string, target: string, generation: string): Copy {
          return super.copy(source, target, (await this.tail(source))?.generation ?? generation);
        }
      })(inner),
    caughtBy: [
      "a copy has the records of its source, positions and tail included, and a generation of its own",
      "an append of the source's generation is refused by the copy",
    ],
  },
  {
    fault: "makes a thread of a source that is not there",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async copy(source: string, target: string, generation: string): Copy {
          const answer = await super.copy(source, target, generation);
          return answer === "no source" ? "copied" : answer;
        }
      })(inner),
    caughtBy: ["without a source nothing is copied"],
  },
  {
    fault: "forgets that there is a second page of threads",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async listThreads(options: Listing): Promise<LogPage<ThreadEntry>> {
          return { ...(await super.listThreads(options)), cursor: undefined };
        }
      })(inner),
    caughtBy: ["every thread is met exactly once, whatever the size of a page"],
  },
  {
    fault: "shows the first of a page again",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async listThreads({ cursor, ...options }: Listing): Promise<LogPage<ThreadEntry>> {
          if (cursor === undefined) return super.listThreads(options);
          const all = (await super.listThreads({ ...EVERYTHING, prefix: options.prefix })).items;
          const items = all.filter(({ threadId }) => threadId >= cursor).slice(0, options.limit);
          return items.at(-1) === all.at(-1)
            ? { items, cursor: undefined }
            : { items, cursor: items.at(-1)?.threadId ?? "" };
        }
      })(inner),
    caughtBy: ["a prefix is taken literally"],
  },
  {
    fault: "takes a cursor for a number of threads to skip",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async listThreads({ prefix, cursor = "0", limit }: Listing): Promise<LogPage<ThreadEntry>> {
          const all = (await super.listThreads({ ...EVERYTHING, prefix })).items;
          const end = Number(cursor) + limit;
          return { items: all.slice(Number(cursor), end), cursor: end < all.length ? String(end) : undefined };
        }
      })(inner),
    caughtBy: ["threads that come and go during a walk do not disturb it for the others"],
  },
  {
    fault: "stops after a thousand threads",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async listThreads({ limit, ...options }: Listing): Promise<LogPage<ThreadEntry>> {
          const page = await super.listThreads({ ...options, limit: Math.min(limit, 1000) });
          return limit > 1000 ? { ...page, cursor: undefined } : page;
        }
      })(inner),
    caughtBy: ["a listing continues past a thousand threads"],
  },
  {
    fault: "takes a prefix for a pattern of LIKE",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override listThreads({ prefix, ...options }: Listing): Promise<LogPage<ThreadEntry>> {
          const escaped = prefix.replace(/[.*+?^$(){}|[\]\\]/g, "\\$&");
          const pattern = new RegExp(`^${escaped.replaceAll("%", ".*").replaceAll("_", ".")}`, "isu");
          return this.threadsWhere(options, ({ threadId }) => pattern.test(threadId));
        }
      })(inner),
    caughtBy: ["a prefix is taken literally"],
  },
  {
    fault: "lists the tail of a thread as its head",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async listThreads(options: Listing): Promise<LogPage<ThreadEntry>> {
          const page = await super.listThreads(options);
          const items = page.items.map(async (thread) => {
            const tail = await this.tail(thread.threadId);
            return { ...thread, head: tail?.entry ?? thread.head };
          });
          return { ...page, items: await Promise.all(items) };
        }
      })(inner),
    caughtBy: ["a thread is listed with its head checkpoint"],
  },
];
