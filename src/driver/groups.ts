/** How calls travel, alone and together. */
export interface Ways<Call, Answer> {
  readonly one: (call: Call) => Promise<Answer>;
  /** An answer for each, in their order; `undefined` for one that has to go alone. */
  readonly many: (group: readonly Call[]) => Promise<readonly (Answer | undefined)[]>;
  /** Whether a call can go with others. */
  readonly mayShare: (call: Call) => boolean;
  /** A group has one call for each of these: a second one builds on the first, or comes too late. */
  readonly threadOf: (call: Call) => string;
  readonly bytesOf: (call: Call) => number;
  /** How many go together at most. @default 128 */
  readonly most?: number;
  /**
   * While this many groups are in flight, further calls wait for one of them to return and then go
   * together. @default 2
   */
  readonly mostUnderWay?: number;
  /**
   * Whether the first ones, too, wait for others: for those that go on after the
   * same answer, or for all of the same turn of the event loop. @default neither
   */
  readonly gathers?: "answered" | "turn";
  /** Whether the server refused a group as a whole, perhaps because of one call: then each goes alone. */
  readonly isRefusal: (error: unknown) => boolean;
}

interface Waiting<Call, Answer> {
  readonly call: Call;
  readonly resolve: (answer: Answer | Promise<Answer>) => void;
  readonly reject: (error: unknown) => void;
}

const MOST_UNDER_WAY = 2;
/**
 * No call waits longer than this for the groups before it: one of them may be held up by a
 * lock.
 */
const LONGEST_WAIT_MS = 20;
const MOST_IN_A_GROUP = 128;
/** A batch of at least this many calls is split into two halves. */
const MANY = 16;
const MOST_BYTES_IN_A_GROUP = 1024 * 1024;

/**
 * Calls for different threads that wait at the same time travel together, and so share
 * one round trip and one sync of the disk. A call with none before it goes at once, by
 * itself, or with `gathers` a moment later. Each call gets its own answer: one that
 * could not go with the others is sent alone, and so is every call of a group that the
 * server refused. If a group's outcome is unknown, it is unknown for every call in it,
 * and each finds out by its own write id.
 */
export class Groups<Call, Answer> {
  readonly #ways: Ways<Call, Answer>;
  #waiting: Waiting<Call, Answer>[] = [];
  #underWay = 0;
  #callsUnderWay = 0;
  #timer: NodeJS.Timeout | undefined;
  #gathers = false;

  constructor(ways: Ways<Call, Answer>) {
    this.#ways = ways;
  }

  call(call: Call): Promise<Answer> {
    const { gathers, mayShare, one } = this.#ways;
    const isFree = this.#isFree;
    if (isFree && (gathers === undefined || !mayShare(call))) return this.#counted(1, () => one(call));
    if (!mayShare(call)) return one(call);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, resolve, reject });
      if (isFree) this.#gather();
      else this.#sendLater();
    });
  }

  get #isFree(): boolean {
    return this.#underWay < (this.#ways.mostUnderWay ?? MOST_UNDER_WAY);
  }

  async #counted<T>(calls: number, work: () => Promise<T>): Promise<T> {
    this.#underWay++;
    this.#callsUnderWay += calls;
    try {
      return await work();
    } finally {
      this.#underWay--;
      this.#callsUnderWay -= calls;
      if (this.#waiting.length > 0 && this.#isFree) this.#gather();
    }
  }

  #gather(): void {
    const { gathers } = this.#ways;
    if (gathers === undefined) {
      this.#sendGroup();
      return;
    }
    if (this.#gathers) return;
    this.#gathers = true;
    // A tick comes when every promise that was settled has been followed, and costs a lonely call next to nothing.
    if (gathers === "answered") process.nextTick(() => this.#sendGathered());
    else setImmediate(() => this.#sendGathered());
  }

  #sendGathered(): void {
    this.#gathers = false;
    while (this.#waiting.length > 0 && this.#isFree) this.#sendGroup();
    if (this.#waiting.length > 0) this.#sendLater();
  }

  #sendLater(): void {
    this.#timer ??= setTimeout(() => this.#sendGroup(), LONGEST_WAIT_MS);
  }

  #sendGroup(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const group = this.#takeGroup();
    if (this.#waiting.length > 0) this.#sendLater();
    if (group.length > 0) void this.#counted(group.length, () => this.#send(group));
  }

  #takeGroup(): readonly Waiting<Call, Answer>[] {
    const waiting = this.#waiting;
    if (waiting.length === 1) {
      this.#waiting = [];
      return waiting;
    }
    const [group, rest]: [Waiting<Call, Answer>[], Waiting<Call, Answer>[]] = [[], []];
    const threads = new Set<string>();
    const most = this.#mostInGroup();
    let bytes = 0;
    for (const one of waiting) {
      const thread = this.#ways.threadOf(one.call);
      const size = bytes + this.#ways.bytesOf(one.call);
      const fits = group.length < most && (group.length === 0 || size <= MOST_BYTES_IN_A_GROUP);
      if (fits && !threads.has(thread)) {
        threads.add(thread);
        bytes = size;
        group.push(one);
      } else rest.push(one);
    }
    this.#waiting = rest;
    return group;
  }

  /** Half of many: the server works on one half while this process makes the other, and neither waits for the other. */
  #mostInGroup(): number {
    const { most = MOST_IN_A_GROUP, gathers } = this.#ways;
    const calls = this.#waiting.length + this.#callsUnderWay;
    if (gathers !== "answered" || calls < MANY || !this.#isFree) return most;
    return Math.min(most, Math.ceil(calls / 2));
  }

  /** Never rejects: results and errors go to the waiting calls. */
  async #send(group: readonly Waiting<Call, Answer>[]): Promise<void> {
    const { one, many, isRefusal } = this.#ways;
    const [first] = group;
    const isAlone = group.length === 1 && first !== undefined;
    try {
      if (isAlone) return first.resolve(await one(first.call));
      const answers = await many(group.map(({ call }) => call));
      for (const [place, each] of group.entries()) each.resolve(answers[place] ?? one(each.call));
    } catch (error) {
      for (const each of group) {
        if (!isAlone && isRefusal(error)) each.resolve(one(each.call));
        else each.reject(error);
      }
    }
  }
}
