import { beginningOf, LONGEST_TTL_MS, placeOfTail } from "../../../src/checkpoint/log/driver-rules.ts";
import type { AppendOutcome, AppendRequest, KnownPlace, LogChain } from "../../../src/checkpoint/log/thread-log.ts";
import type { DriverFault } from "./fault.ts";
import { ReferenceLog } from "./reference-log.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The same request, moved behind the current tail. */
async function forced(log: ReferenceLog, threadId: string, request: AppendRequest): Promise<AppendRequest> {
  const tail = await log.tail(threadId);
  const seq = (tail?.entry.seq ?? 0) + 1;
  const record = { ...request.record, seq, head: request.record.checkpointId === undefined ? seq - 1 : seq };
  return {
    ...request,
    expected: tail === undefined ? beginningOf(request.expected.generation) : placeOfTail(tail),
    record,
  };
}

/** The place with the write of whatever the tail is, where it has its number. */
async function asNumbered(log: ReferenceLog, threadId: string, place: KnownPlace): Promise<KnownPlace> {
  const entry = (await log.tail(threadId))?.entry;
  return entry?.seq === place.seq ? { ...place, writeId: entry.writeId } : place;
}

export const appendFaults: readonly DriverFault[] = [
  {
    fault: "ignores the expected tail",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const tail = await this.tail(threadId);
          const same = tail === undefined || tail.generation === request.expected.generation;
          return super.append(threadId, same ? await forced(this, threadId, request) : request);
        }
      })(inner),
    caughtBy: [
      "an append behind the tail is refused and told the tail, the generation and the occupant",
      "an append beyond the tail is refused",
      "a refused append leaves nothing of its edits behind",
    ],
  },
  {
    fault: "replaces what lies at the positions of further records before it finds the thread taken",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const outcome = await super.append(threadId, request);
          const { tail, generation } = outcome.appended ? {} : outcome;
          if (tail === undefined || generation === undefined || request.expected.seq > 0) return outcome;
          const replace = (request.more ?? []).filter(({ seq }) => seq <= tail.seq);
          if (replace.length === 0) return outcome;
          const seq = tail.seq + 1;
          const record = { ...request.record, seq, base: seq, head: seq, writeId: "its own", checkpointId: "its own" };
          await super.append(threadId, { expected: placeOfTail({ generation, entry: tail }), record, replace });
          return outcome;
        }
      })(inner),
    caughtBy: ["records that would begin a thread which is there are refused together, and it stays as it was"],
  },
  {
    fault: "looks at the tail first and writes later",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const tail = await this.tail(threadId);
          const fits = (tail?.entry.seq ?? 0) === request.expected.seq;
          const own = tail === undefined || tail.generation === request.expected.generation;
          if (!fits || !own) return super.append(threadId, request);
          await turn();
          return super.append(threadId, await forced(this, threadId, request));
        }
      })(inner),
    caughtBy: [
      "of many appends at one position exactly one wins",
      "of many creations of one thread exactly one wins",
      "one append sent many times at once is applied once, and every sender can tell",
      "an append that races a removal brings nothing back",
    ],
  },
  {
    fault: "ignores the generation",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const generation = (await this.tail(threadId))?.generation ?? request.expected.generation;
          return super.append(threadId, { ...request, expected: { ...request.expected, generation } });
        }
      })(inner),
    caughtBy: [
      "an append of another generation is refused though its position fits",
      "a writer of the removed generation is refused though the new thread is as long",
      "an append of the source's generation is refused by the copy",
    ],
  },
  {
    fault: "compares a tail by its generation and number alone",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          return super.append(threadId, { ...request, expected: await asNumbered(this, threadId, request.expected) });
        }
        override async remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
          return super.remove(threadId, ifTail && (await asNumbered(this, threadId, ifTail)));
        }
      })(inner),
    caughtBy: [
      "no append is accepted behind a record that was lost, though another has its number",
      "no append of several records, and none that replaces or drops, is accepted behind a record that was lost",
      "a removal that names a lost record does nothing",
      "of appends to many threads at once, those behind lost records are refused",
    ],
  },
  {
    fault: "takes a lost record of the same number for what a reader knows",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async readTail(threadId: string, options?: { newerThan?: KnownPlace }): Promise<LogChain | undefined> {
          const { newerThan } = options ?? {};
          const whole = await super.readTail(threadId);
          if (newerThan === undefined || whole?.generation !== newerThan.generation) return whole;
          if (whole.tail.seq < newerThan.seq) return whole;
          return { ...whole, records: whole.records.filter(({ seq }) => seq > newerThan.seq) };
        }
      })(inner),
    caughtBy: [
      "a reader that knows a lost record is given the whole chain, and one that knows a kept record what is newer",
      "a place that is not in the thread any more gives the whole chain",
    ],
  },
  {
    fault: "applies a repeated write again",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const outcome = await super.append(threadId, request);
          if (outcome.appended || outcome.occupant?.writeId !== request.record.writeId) return outcome;
          return super.append(threadId, await forced(this, threadId, request));
        }
      })(inner),
    caughtBy: [
      "a repeated append is refused, sees itself as the occupant and is stored once",
      "a repeated creation sees itself as the occupant",
    ],
  },
  {
    fault: "does not tell who is there already",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const outcome = await super.append(threadId, request);
          return outcome.appended ? outcome : { ...outcome, occupant: undefined };
        }
      })(inner),
    caughtBy: [
      "a repeated append is refused, sees itself as the occupant and is stored once",
      "a repeated creation sees itself as the occupant",
      "the tail itself may be dropped by the append behind it",
    ],
  },
  {
    fault: "names an occupant of another generation",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const outcome = await super.append(threadId, request);
          if (outcome.appended) return outcome;
          const records = (await this.readTail(threadId))?.records ?? [];
          return { ...outcome, occupant: records.find(({ seq }) => seq === request.expected.seq + 1) };
        }
      })(inner),
    caughtBy: ["an append that expects no thread is refused where there is one"],
  },
  {
    fault: "does not tell the tail when it refuses",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const outcome = await super.append(threadId, request);
          return outcome.appended ? outcome : { ...outcome, tail: undefined, generation: undefined };
        }
      })(inner),
    caughtBy: [
      "an append behind the tail is refused and told the tail, the generation and the occupant",
      "an append of another generation is refused though its position fits",
    ],
  },
  {
    fault: "lets a late append bring a removed thread back",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const outcome = await super.append(threadId, request);
          if (outcome.appended || outcome.tail !== undefined) return outcome;
          return super.append(threadId, await forced(this, threadId, request));
        }
      })(inner),
    caughtBy: [
      "a late append brings nothing of a removed thread back",
      "an append to a thread that is not there is refused unless it expects none",
      "a late append brings nothing of an expired thread back, and a new thread holds nothing of it",
    ],
  },
  {
    fault: "shows a record before its edits",
    driver: (inner) =>
      new (class extends ReferenceLog {
        readonly #half = new Map<string, LogChain>();
        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const before = await super.readTail(threadId);
          const outcome = await super.append(threadId, request);
          const tail = await super.tail(threadId);
          if (!outcome.appended || before === undefined || tail === undefined) return outcome;
          this.#half.set(threadId, { ...before, tail: tail.entry, records: [...before.records, request.record] });
          await turn();
          await turn();
          this.#half.delete(threadId);
          return outcome;
        }
        override async readTail(threadId: string): Promise<LogChain | undefined> {
          return this.#half.get(threadId) ?? super.readTail(threadId);
        }
      })(inner),
    caughtBy: ["a reader never sees a part of an append's edits"],
  },
  {
    fault: "drops nothing",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override append(threadId: string, { drop: _, ...request }: AppendRequest): Promise<AppendOutcome> {
          return super.append(threadId, request);
        }
      })(inner),
    caughtBy: [
      "dropped records are gone from every answer",
      "a checkpoint id moves to the new record when the old one is dropped with the same append",
      "one append can replace, drop and drop below",
    ],
  },
  {
    fault: "replaces nothing",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override append(threadId: string, { replace: _, ...request }: AppendRequest): Promise<AppendOutcome> {
          return super.append(threadId, request);
        }
      })(inner),
    caughtBy: ["a replaced record is the new one in every answer", "a replaced record is found by its new words only"],
  },
  ...[1, -1].map((offset) => ({
    fault: `drops one record too ${offset > 0 ? "many" : "few"} below a position`,
    driver: (inner: ConstructorParameters<typeof ReferenceLog>[0]) =>
      new (class extends ReferenceLog {
        override append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const { dropBelow } = request;
          return super.append(
            threadId,
            dropBelow === undefined ? request : { ...request, dropBelow: dropBelow + offset },
          );
        }
      })(inner),
    caughtBy: ["dropBelow takes every record below the position and not the one at it"],
  })),
  {
    fault: "carries out the edits of an append it refused",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const outcome = await super.append(threadId, request);
          const { drop, replace } = request;
          if (outcome.appended || (drop === undefined && replace === undefined)) return outcome;
          const mark = { ...request, record: { ...request.record, checkpointId: undefined } };
          await super.append(threadId, await forced(this, threadId, mark));
          return outcome;
        }
      })(inner),
    caughtBy: ["a refused append leaves nothing of its edits behind"],
  },
  {
    fault: "answers appends that wait together with the first failure among them",
    driver: (inner) =>
      new (class extends ReferenceLog {
        #group: Promise<AppendOutcome>[] = [];

        override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          const own = super.append(threadId, request);
          const group = this.#group;
          group.push(own);
          // A call that comes after this turn belongs to the next group.
          const [outcome] = await Promise.all([own, turn().then(() => Promise.all(group))]).finally(() => {
            if (this.#group === group) this.#group = [];
          });
          return outcome;
        }
      })(inner),
    caughtBy: ["of appends to many threads at once each is answered for itself, whatever becomes of the others"],
  },
  {
    fault: "never expires anything",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override append(threadId: string, { ttlMs: _, ...request }: AppendRequest): Promise<AppendOutcome> {
          return super.append(threadId, request);
        }
      })(inner),
    caughtBy: ["an expired thread is gone from every answer", "an expired thread is found by no query"],
  },
  {
    fault: "forgets the end of a thread with the next append",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          return super.append(threadId, { ttlMs: LONGEST_TTL_MS, ...request });
        }
      })(inner),
    caughtBy: ["an append moves the end of its thread, and one that names none leaves it"],
  },
];
