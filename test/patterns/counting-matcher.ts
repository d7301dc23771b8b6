import { type Pattern, parsePattern } from "./parse-pattern.ts";

type Step =
  | {
      readonly do: "one";
      readonly holds: (character: string) => boolean;
      readonly known: Uint8Array;
      readonly back: boolean;
    }
  | { readonly do: "either"; readonly first: number; readonly second: number }
  | { readonly do: "jump"; readonly to: number }
  | { readonly do: "mark"; readonly slot: number }
  | { readonly do: "forget"; readonly from: number; readonly to: number }
  | { readonly do: "moved"; readonly slot: number }
  | { readonly do: "edge"; readonly edge: "start" | "end" | "word" | "inside" }
  | { readonly do: "again"; readonly index: number; readonly back: boolean }
  | { readonly do: "look"; readonly program: readonly Step[]; readonly negative: boolean }
  | { readonly do: "done" };

export interface Counted {
  /** What a global search finds: where each match begins and ends. */
  readonly matches: readonly (readonly [from: number, to: number])[];
  /** How many steps of backtracking it took; undefined where that was more than the budget. */
  readonly steps: number | undefined;
}

class OutOfBudget extends Error {}

/**
 * Matches as the engine does, by backtracking, and counts the steps: a cost that is the same on every machine, however
 * busy. That it finds what the engine finds is checked wherever it is used.
 */
export class CountingMatcher {
  readonly #program: readonly Step[];
  readonly #unicode: boolean;
  readonly #lines: boolean;
  readonly #sticky: boolean;
  readonly #nothingHeld: readonly number[];
  #steps = 0;
  #budget = 0;

  constructor(source: string, flags: string) {
    const { root, groups } = parsePattern(source, flags);
    this.#unicode = /[uv]/.test(flags);
    this.#lines = flags.includes("m");
    this.#sticky = flags.includes("y");
    const program: Step[] = [];
    let slots = (groups + 1) * 2;
    const compile = (pattern: Pattern, into: Step[], back: boolean): void => {
      switch (pattern.kind) {
        case "one":
          into.push({ do: "one", holds: pattern.holds, known: new Uint8Array(128), back });
          return;
        case "edge":
          into.push({ do: "edge", edge: pattern.edge });
          return;
        case "again":
          into.push({ do: "again", index: pattern.index, back });
          return;
        case "sequence":
          for (const part of back ? pattern.parts.toReversed() : pattern.parts) compile(part, into, back);
          return;
        case "group": {
          const [first, second] = back ? [1, 0] : [0, 1];
          into.push({ do: "mark", slot: pattern.index * 2 + first });
          compile(pattern.of, into, back);
          into.push({ do: "mark", slot: pattern.index * 2 + second });
          return;
        }
        case "look": {
          const inner: Step[] = [];
          compile(pattern.of, inner, pattern.behind);
          inner.push({ do: "done" });
          into.push({ do: "look", program: inner, negative: pattern.negative });
          return;
        }
        case "choice": {
          const jumps: number[] = [];
          pattern.options.forEach((option, index) => {
            const last = index === pattern.options.length - 1;
            const fork = into.length;
            if (!last) into.push({ do: "jump", to: 0 });
            compile(option, into, back);
            if (last) return;
            jumps.push(into.length);
            into.push({ do: "jump", to: 0 });
            into[fork] = { do: "either", first: fork + 1, second: into.length };
          });
          for (const jump of jumps) into[jump] = { do: "jump", to: into.length };
          return;
        }
        case "repeat": {
          const turn = (): void => {
            if (pattern.groups[0] < pattern.groups[1])
              into.push({ do: "forget", from: (pattern.groups[0] + 1) * 2, to: (pattern.groups[1] + 1) * 2 });
            compile(pattern.of, into, back);
          };
          const forked = (): ((leave: number) => void) => {
            const fork = into.length;
            into.push({ do: "jump", to: 0 });
            return (leave) => {
              into[fork] = pattern.greedy
                ? { do: "either", first: fork + 1, second: leave }
                : { do: "either", first: leave, second: fork + 1 };
            };
          };
          for (let count = 0; count < pattern.least; count++) turn();
          if (pattern.most === Number.POSITIVE_INFINITY) {
            const slot = slots++;
            const again = into.length;
            const leave = forked();
            into.push({ do: "mark", slot });
            turn();
            into.push({ do: "moved", slot }, { do: "jump", to: again });
            leave(into.length);
            return;
          }
          const leaves: ((leave: number) => void)[] = [];
          for (let count = pattern.least; count < pattern.most; count++) {
            leaves.push(forked());
            turn();
          }
          for (const leave of leaves) leave(into.length);
          return;
        }
      }
    };
    compile(root, program, false);
    program.push({ do: "done" });
    this.#program = program;
    this.#nothingHeld = new Array<number>(slots).fill(-1);
  }

  /** Everything that a replacement of all matches would find in the text. */
  count(text: string, budget: number): Counted {
    this.#steps = 0;
    this.#budget = budget;
    const matches: [number, number][] = [];
    let from = 0;
    try {
      while (from <= text.length) {
        const to = this.#run(this.#program, text, from, this.#nothingHeld)?.at;
        if (to === undefined) {
          if (this.#sticky) break;
          from = this.#after(text, from);
        } else {
          matches.push([from, to]);
          from = to === from ? this.#after(text, from) : to;
        }
      }
    } catch (error) {
      if (error instanceof OutOfBudget) return { matches, steps: undefined };
      throw error;
    }
    return { matches, steps: this.#steps };
  }

  #after(text: string, at: number): number {
    return at + (this.#unicode ? wide(text, at) : 1);
  }

  #run(program: readonly Step[], text: string, from: number, held: readonly number[]) {
    const waiting: [step: number, at: number, held: readonly number[]][] = [];
    let next = 0;
    let at = from;
    let slots = held;
    for (;;) {
      if (++this.#steps > this.#budget) throw new OutOfBudget();
      const step = program[next] as Step;
      next++;
      let holds = true;
      switch (step.do) {
        case "one": {
          const code = text.charCodeAt(step.back ? at - 1 : at);
          // ASCII is told apart by a table: nearly all of the steps are these.
          if (code < 128) {
            if (step.known[code] === 0) step.known[code] = step.holds(String.fromCharCode(code)) ? 2 : 1;
            holds = step.known[code] === 2;
            at += step.back ? -1 : 1;
            break;
          }
          const [begin, end] = this.#neighbour(text, at, step.back);
          holds = begin >= 0 && end <= text.length && step.holds(text.slice(begin, end));
          at = step.back ? begin : end;
          break;
        }
        case "either":
          waiting.push([step.second, at, slots]);
          next = step.first;
          break;
        case "jump":
          next = step.to;
          break;
        case "mark":
          slots = slots.with(step.slot, at);
          break;
        case "forget":
          slots = slots.slice().fill(-1, step.from, step.to);
          break;
        case "moved":
          holds = slots[step.slot] !== at;
          break;
        case "edge":
          holds = this.#edge(step.edge, text, at);
          break;
        case "again": {
          const [begin = -1, end = -1] = slots.slice(step.index * 2, step.index * 2 + 2);
          const word = begin < 0 || end < 0 ? "" : text.slice(begin, end);
          const to = step.back ? at - word.length : at + word.length;
          holds = to >= 0 && text.slice(Math.min(at, to), Math.max(at, to)) === word;
          at = to;
          break;
        }
        case "look": {
          const found = this.#run(step.program, text, at, slots);
          holds = (found !== undefined) !== step.negative;
          if (found !== undefined && !step.negative) slots = found.slots;
          break;
        }
        case "done":
          return { at, slots };
      }
      if (holds) continue;
      const last = waiting.pop();
      if (last === undefined) return undefined;
      [next, at, slots] = last;
    }
  }

  #neighbour(text: string, at: number, back: boolean): readonly [begin: number, end: number] {
    if (!back) return [at, at + (this.#unicode ? wide(text, at) : 1)];
    const pair = this.#unicode && at >= 2 && wide(text, at - 2) === 2;
    return [at - (pair ? 2 : 1), at];
  }

  #edge(edge: "start" | "end" | "word" | "inside", text: string, at: number): boolean {
    if (edge === "start") return at === 0 || (this.#lines && /[\n\r\u2028\u2029]/.test(text[at - 1] ?? ""));
    if (edge === "end") return at === text.length || (this.#lines && /[\n\r\u2028\u2029]/.test(text[at] ?? ""));
    const between = /\w/.test(text[at - 1] ?? "") !== /\w/.test(text[at] ?? "");
    return between === (edge === "word");
  }
}

const wide = (text: string, at: number): 1 | 2 => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
