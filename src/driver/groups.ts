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
  /** Whether the first ones, too, wait for those that come within the same turn of the event loop. @default false */
  readonly gathers?: boolean;
  /** Whether the server refused a group as a whole, perhaps because of one call: then each goes alone. */
  readonly isRefusal: (error: unknown) => boolean;
}

interface Waiting<Call, Answer> {
  readonly call: Call;
  readonly resolve: (answer: Answer | Promise<Answer>) => void;
  readonly reject: (error: unknown) => void;
}

/** While so many are under way, others wait for one of them to return and then go together. */
const MOST_UNDER_WAY = 2;
/** Nobody waits longer than this for those before it: one of them may be held up by a lock. */
const LONGEST_WAIT_MS = 20;
const MOST_IN_A_GROUP = 128;
const MOST_BYTES_IN_A_GROUP = 1024 * 1024;

/**
 * Calls for different threads that wait at the same time travel together, and so
 * share one round trip and one sync of the disk. One that has nobody before it
 * goes at once, by itself, or with `gathers` at the end of the turn. Each is answered for itself: whoever could not go with
 * the others goes alone, and so does everybody where the server refused the
 * group. A group whose end is unknown is that for each of its members, and each
 * finds out by its own write id.
 */
export class Groups<Call, Answer> {
  readonly #ways: Ways<Call, Answer>;
  #waiting: Waiting<Call, Answer>[] = [];
  #underWay = 0;
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;

  constructor(ways: Ways<Call, Answer>) {
    this.#ways = ways;
  }

  call(call: Call): Promise<Answer> {
    const { gathers = false, mayShare, one } = this.#ways;
    const isFree = this.#underWay < MOST_UNDER_WAY;
    if (isFree && !(gathers && mayShare(call))) return this.#counted(() => one(call));
    if (!mayShare(call)) return one(call);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, resolve, reject });
      if (isFree) this.#sendThisTurn();
      else this.#sendLater();
    });
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay++;
    try {
      return await work();
    } finally {
      this.#underWay--;
      if (this.#waiting.length > 0 && this.#underWay < MOST_UNDER_WAY) this.#sendGroup();
    }
  }

  #sendThisTurn(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      while (this.#waiting.length > 0 && this.#underWay < MOST_UNDER_WAY) this.#sendGroup();
      if (this.#waiting.length > 0) this.#sendLater();
    });
  }

  #sendLater(): void {
    this.#timer ??= setTimeout(() => this.#sendGroup(), LONGEST_WAIT_MS);
  }

  #sendGroup(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const group = this.#takeGroup();
    if (this.#waiting.length > 0) this.#sendLater();
    if (group.length > 0) void this.#counted(() => this.#send(group));
  }

  #takeGroup(): readonly Waiting<Call, Answer>[] {
    const [group, rest]: [Waiting<Call, Answer>[], Waiting<Call, Answer>[]] = [[], []];
    const threads = new Set<string>();
    const { most = MOST_IN_A_GROUP } = this.#ways;
    let bytes = 0;
    for (const one of this.#waiting) {
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

  /** Rejects nothing itself: everything goes to those who wait. */
  async #send(group: readonly Waiting<Call, Answer>[]): Promise<void> {
    const [first] = group;
    if (group.length === 1 && first !== undefined) {
      const answer = this.#ways.one(first.call);
      first.resolve(answer);
      await answer.catch(() => undefined);
      return;
    }
    try {
      const answers = await this.#ways.many(group.map(({ call }) => call));
      for (const [place, one] of group.entries()) one.resolve(answers[place] ?? this.#ways.one(one.call));
    } catch (error) {
      for (const one of group) {
        if (this.#ways.isRefusal(error)) one.resolve(this.#ways.one(one.call));
        else one.reject(error);
      }
    }
  }
}
