import type { AppendOutcome, AppendRequest, KnownPlace, ThreadTail } from "../../../src/checkpoint/log/thread-log.ts";
import type { DriverFault } from "./fault.ts";
import { ReferenceLog } from "./reference-log.ts";

type Removal = ReturnType<ReferenceLog["remove"]>;

/** Calls that wait for one another's turn of the event loop, as one group. */
class Gathering<Call, Answer> {
  readonly #send: (calls: readonly Call[]) => Promise<readonly Answer[]>;
  #waiting: { readonly call: Call; readonly answer: (answer: Answer | Promise<Answer>) => void }[] = [];

  constructor(send: (calls: readonly Call[]) => Promise<readonly Answer[]>) {
    this.#send = send;
  }

  call(call: Call): Promise<Answer> {
    if (this.#waiting.length === 0) setImmediate(() => void this.#sendAll());
    return new Promise((answer) => this.#waiting.push({ call, answer }));
  }

  async #sendAll(): Promise<void> {
    const group = this.#waiting;
    this.#waiting = [];
    const answers = this.#send(group.map(({ call }) => call));
    for (const [place, { answer }] of group.entries()) answer(answers.then((all) => all[place] as Answer));
  }
}

export const togetherFaults: readonly DriverFault[] = [
  {
    fault: "gives calls of one moment the answers of those that were found, in their order",
    driver: (inner) =>
      new (class extends ReferenceLog {
        readonly #tails = new Gathering(async (threadIds: readonly string[]) => {
          const all = await Promise.all(threadIds.map((threadId) => super.tail(threadId)));
          return all.filter((tail) => tail !== undefined);
        });
        override tail(threadId: string): Promise<ThreadTail | undefined> {
          return this.#tails.call(threadId);
        }
      })(inner),
    caughtBy: ["what is asked of many threads at once is answered for each thread by itself"],
  },
  {
    fault: "removes no thread of one moment where one has moved on",
    driver: (inner) =>
      new (class extends ReferenceLog {
        readonly #removals = new Gathering(
          async (group: readonly { threadId: string; ifTail: KnownPlace | undefined }[]) => {
            const tails = await Promise.all(group.map(({ threadId }) => super.tail(threadId)));
            const isMoved = group.some(
              ({ ifTail }, place) => ifTail && tails[place] && tails[place].entry.seq !== ifTail.seq,
            );
            if (isMoved) return group.map(() => "moved" as const);
            return Promise.all(group.map(({ threadId, ifTail }) => super.remove(threadId, ifTail)));
          },
        );
        override remove(threadId: string, ifTail?: KnownPlace): Removal {
          return this.#removals.call({ threadId, ifTail });
        }
      })(inner),
    caughtBy: ["of removals of one moment each is made or refused for its own thread"],
  },
  {
    fault: "refuses every edit of one moment where one is refused",
    driver: (inner) =>
      new (class extends ReferenceLog {
        readonly #edits = new Gathering(
          async (group: readonly { threadId: string; request: AppendRequest }[]): Promise<readonly AppendOutcome[]> => {
            const tails = await Promise.all(group.map(({ threadId }) => super.tail(threadId)));
            const isLate = group.some(({ request }, place) => tails[place]?.entry.seq !== request.expected.seq);
            const late = { appended: false, tail: undefined, generation: undefined, occupant: undefined } as const;
            if (isLate) return group.map(() => late);
            return Promise.all(group.map(({ threadId, request }) => super.append(threadId, request)));
          },
        );
        override append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
          if (request.replace === undefined) return super.append(threadId, request);
          return this.#edits.call({ threadId, request });
        }
      })(inner),
    caughtBy: ["of appends of one moment that change older records each is made or refused for its own thread"],
  },
];
