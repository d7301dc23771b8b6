import { openPlace, placeOf } from "../../../src/checkpoint/find/search-place.ts";
import type {
  AppendOutcome,
  AppendRequest,
  FoundRecords,
  LogPage,
  LogRecord,
  SearchHit,
  SearchRange,
  ThreadEntry,
  ThreadLog,
} from "../../../src/checkpoint/log/thread-log.ts";
import { DeferredIndexLog } from "./deferred-index-log.ts";
import type { DriverFault } from "./fault.ts";
import { type MetadataRange, ReferenceLog } from "./reference-log.ts";

const memberOf = (metadata: string | undefined, key: string): unknown =>
  (JSON.parse(metadata ?? "{}") as Record<string, unknown>)[key];

/** Can do everything, and leaves two of its flags out. */
const silent = (inner: ThreadLog): ReferenceLog => {
  const log = new ReferenceLog(inner);
  const { search: _, metadataQuery: __, ...capabilities } = log.capabilities;
  return Object.assign(log, { capabilities });
};

export const findingFaults: readonly DriverFault[] = [
  {
    fault: "has indexes and does not say so",
    driver: silent,
    caughtBy: ["what the capabilities do not offer is refused with their flag, and is not answered"],
  },
  {
    fault: "answers what it cannot find with nothing",
    driver: (inner) => Object.assign(silent(inner), { search: async () => ({ hits: [], order: "best" as const }) }),
    caughtBy: ["what the capabilities do not offer is refused with their flag, and is not answered"],
  },
  {
    fault: "keeps updating its index for as long as there are writes",
    driver: (inner) =>
      new (class extends DeferredIndexLog {
        override async catchUp(wordsOf: (record: LogRecord) => string | undefined): Promise<void> {
          while (await this.indexOnce(wordsOf));
        }
      })(inner),
    caughtBy: ["an index that is brought up to date reaches what was there, and ends while others go on writing"],
  },
  {
    fault: "leaves the newest record for the next time its index is brought up to date",
    driver: (inner) =>
      new (class extends DeferredIndexLog {
        override async catchUp(wordsOf: (record: LogRecord) => string | undefined): Promise<void> {
          const newest = new Set(
            (await this.threadsWhere({ limit: 1000 }, () => true)).items.map(({ head }) => head.seq),
          );
          await this.indexOnce((record) => (newest.has(record.seq) ? undefined : wordsOf(record)));
        }
      })(inner),
    caughtBy: ["an index that is brought up to date reaches what was there, and ends while others go on writing"],
  },
  {
    fault: "searches for the first word only",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override hits(words: readonly string[], options: SearchRange): Promise<readonly SearchHit[]> {
          return super.hits(words.slice(0, 1), options);
        }
      })(inner),
    caughtBy: [
      "a search finds the records that hold all of the words",
      "words that are a query language's own are words here",
    ],
  },
  {
    fault: "indexes every record twice",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async hits(words: readonly string[], options: SearchRange): Promise<readonly SearchHit[]> {
          return (await super.hits(words, options)).flatMap((hit) => [hit, hit]);
        }
      })(inner),
    caughtBy: ["a record is found once, however often it holds the word"],
  },
  {
    fault: "finds a word by its middle",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async hits(words: readonly string[]): Promise<readonly SearchHit[]> {
          const all = await this.everyRecord();
          const hits = all.filter(({ record }) => words.every((word) => record.words?.includes(word)));
          return hits.map(({ threadId, record }) => ({ threadId, entry: record, score: 1 }));
        }
      })(inner),
    caughtBy: ["a word is found by its beginning and not by its middle", "words of every script are found"],
  },
  {
    fault: "finds whole words only",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async hits(words: readonly string[], options: SearchRange): Promise<readonly SearchHit[]> {
          const said = (await this.everyRecord()).flatMap(({ record }) => (record.words ?? "").split(" "));
          return words.every((word) => said.includes(word)) ? super.hits(words, options) : [];
        }
      })(inner),
    caughtBy: ["a word is found by its beginning and not by its middle"],
  },
  {
    fault: "finds only records that carry a checkpoint id",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async hits(words: readonly string[], options: SearchRange): Promise<readonly SearchHit[]> {
          return (await super.hits(words, options)).filter(({ entry }) => entry.checkpointId !== undefined);
        }
      })(inner),
    caughtBy: ["a record without a checkpoint id is found by its words, also when it lost its id"],
  },
  {
    fault: "finds what was dropped or removed",
    driver: (inner) =>
      new (class extends ReferenceLog {
        readonly #hits: SearchHit[] = [];
        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const outcome = await super.append(threadId, request);
          if (outcome.appended) this.#hits.push({ threadId, entry: request.record, score: 1 });
          return outcome;
        }
        override async hits(words: readonly string[], options: SearchRange): Promise<readonly SearchHit[]> {
          const found = await super.hits(words, options);
          const known = new Set(found.map(({ threadId, entry }) => `${threadId} ${entry.seq}`));
          const said = ({ entry }: SearchHit): string => ("words" in entry ? String(entry.words) : "");
          const gone = this.#hits.filter((hit) => !known.has(`${hit.threadId} ${hit.entry.seq}`));
          return [...found, ...gone.filter((hit) => words.every((word) => said(hit).split(" ").includes(word)))];
        }
      })(inner),
    caughtBy: ["dropped and removed records are not found", "a replaced record is found by its new words only"],
  },
  {
    fault: "puts the worst first",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async hits(words: readonly string[], { limit, ...range }: SearchRange): Promise<readonly SearchHit[]> {
          return (await super.hits(words, { ...range, limit: 1000 })).toReversed().slice(0, limit);
        }
      })(inner),
    caughtBy: ["the best come first, as many as were asked for"],
  },
  {
    fault: "continues a search from its beginning",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override search(words: readonly string[], { after, ...range }: SearchRange): Promise<FoundRecords> {
          if (after !== undefined) openPlace(after, ["string", "number"]);
          return super.search(words, range);
        }
      })(inner),
    caughtBy: [
      "a search that is continued meets every record once, in either order, within a prefix too",
      "a search that is continued is not disturbed by what is saved meanwhile",
    ],
  },
  {
    fault: "continues a search by the number of hits before",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async search(words: readonly string[], { after, limit, prefix }: SearchRange): Promise<FoundRecords> {
          const { parts } = after === undefined ? { parts: ["", 0] as const } : openPlace(after, ["string", "number"]);
          const all = await super.search(words, { limit: 1000, ...(prefix !== undefined && { prefix }) });
          const hits = all.hits.map((hit, at) => ({ ...hit, place: placeOf(all.order, "", at + 1) }));
          return { hits: hits.slice(parts[1], parts[1] + limit), order: all.order };
        }
      })(inner),
    caughtBy: ["a search that is continued is not disturbed by what is saved meanwhile"],
  },
  {
    fault: "says best first, whatever the order",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async search(words: readonly string[], range: SearchRange): Promise<FoundRecords> {
          return { ...(await super.search(words, range)), order: "best" };
        }
      })(inner),
    caughtBy: [
      "more records than are ranked come newest first, and the answer says so",
      "a search that is continued meets every record once, in either order, within a prefix too",
    ],
  },
  {
    fault: "continues from any place that it is given",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override search(words: readonly string[], range: SearchRange): Promise<FoundRecords> {
          return super.search(words, range).catch(() => ({ hits: [], order: "best" }));
        }
      })(inner),
    caughtBy: ["a place that was not made here is refused"],
  },
  {
    fault: "compares metadata as text",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override queryMetadata(key: string, valueJson: string, options: MetadataRange): Promise<LogPage<ThreadEntry>> {
          const wanted = String(JSON.parse(valueJson));
          return this.threadsWhere(options, ({ head }) => String(memberOf(head.metadata, key)) === wanted);
        }
      })(inner),
    caughtBy: ["a value is found by its type as well as its text"],
  },
  {
    fault: "takes a missing key for null",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override queryMetadata(key: string, valueJson: string, options: MetadataRange): Promise<LogPage<ThreadEntry>> {
          const test = ({ head }: ThreadEntry): boolean =>
            JSON.stringify(memberOf(head.metadata, key) ?? null) === valueJson;
          return this.threadsWhere(options, test);
        }
      })(inner),
    caughtBy: ["a value is found by its type as well as its text"],
  },
  {
    fault: "takes a key for a path",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override queryMetadata(key: string, valueJson: string, options: MetadataRange): Promise<LogPage<ThreadEntry>> {
          return this.threadsWhere(options, ({ head }) => {
            let value: unknown = JSON.parse(head.metadata ?? "{}");
            for (const step of key.split(".")) value = (value as Record<string, unknown> | undefined)?.[step];
            return JSON.stringify(value) === valueJson;
          });
        }
      })(inner),
    caughtBy: ["every key is taken literally", "a key inside an object is not a key of the metadata"],
  },
  {
    fault: "looks at the metadata of every checkpoint",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async queryMetadata(
          key: string,
          valueJson: string,
          options: MetadataRange,
        ): Promise<LogPage<ThreadEntry>> {
          const all = await this.everyRecord();
          const matches = all.filter(({ record }) => JSON.stringify(memberOf(record.metadata, key)) === valueJson);
          const ids = new Set(matches.map(({ threadId }) => threadId));
          return this.threadsWhere(options, ({ threadId }) => ids.has(threadId));
        }
      })(inner),
    caughtBy: ["only the metadata of the head counts"],
  },
  {
    fault: "finds a thread by the metadata that its head was appended with, whatever became of it",
    driver: (inner) =>
      new (class extends ReferenceLog {
        readonly #appended = new Map<string, string | undefined>();

        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const outcome = await super.append(threadId, request);
          if (outcome.appended) this.#appended.set(`${request.record.seq} ${threadId}`, request.record.metadata);
          return outcome;
        }

        override queryMetadata(key: string, valueJson: string, options: MetadataRange): Promise<LogPage<ThreadEntry>> {
          const test = ({ threadId, head }: ThreadEntry): boolean => {
            const metadata = this.#appended.get(`${head.seq} ${threadId}`) ?? head.metadata;
            return JSON.stringify(memberOf(metadata, key)) === valueJson;
          };
          return this.threadsWhere(options, test);
        }
      })(inner),
    caughtBy: ["metadata that an edit changed is found as it is now"],
  },
  {
    fault: "forgets that there is a second page of matches",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async queryMetadata(
          ...args: Parameters<ReferenceLog["queryMetadata"]>
        ): Promise<LogPage<ThreadEntry>> {
          return { ...(await super.queryMetadata(...args)), cursor: undefined };
        }
      })(inner),
    caughtBy: ["every match is met exactly once, whatever the size of a page"],
  },
  {
    fault: "searches every thread, whatever their ids should begin with",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override hits(words: readonly string[], { limit }: SearchRange): Promise<readonly SearchHit[]> {
          return super.hits(words, { limit });
        }
      })(inner),
    caughtBy: ["a search within a prefix finds nothing outside it, whatever the prefix holds"],
  },
  {
    fault: "takes a prefix for a pattern",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override queryMetadata(
          key: string,
          valueJson: string,
          { prefix = "", ...range }: MetadataRange,
        ): Promise<LogPage<ThreadEntry>> {
          const looksLike = (threadId: string): boolean =>
            [...prefix].every((character, index) => character === "_" || character === threadId[index]);
          return this.threadsWhere(
            range,
            ({ threadId, head }) => looksLike(threadId) && JSON.stringify(memberOf(head.metadata, key)) === valueJson,
          );
        }
      })(inner),
    caughtBy: ["a query within a prefix finds nothing outside it, whatever the prefix holds"],
  },
];
