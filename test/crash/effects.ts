import { appendFileSync, existsSync, readFileSync } from "node:fs";

/** One time that a tool acted on the world. */
export interface Effect {
  readonly toolCallId: string;
  readonly n: number;
  readonly key: string;
  readonly attempt: number;
}

/** What tools did, kept where no agent and no storage can change it. */
export interface Effects {
  add(effect: Effect): void;
  all(): readonly Effect[];
}

export function effectsInMemory(): Effects {
  const effects: Effect[] = [];
  return { add: (effect) => void effects.push(effect), all: () => effects };
}

/** For processes that are really killed: in the file when `add` returns. */
export function effectsInFile(path: string): Effects {
  return {
    add: (effect) => appendFileSync(path, `${JSON.stringify(effect)}\n`),
    all: () =>
      existsSync(path)
        ? readFileSync(path, "utf8")
            .trim()
            .split("\n")
            .filter((line) => line !== "")
            .map((line) => JSON.parse(line) as Effect)
        : [],
  };
}
