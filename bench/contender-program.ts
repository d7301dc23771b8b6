/** One contender in a process of its own: what another one leaves for the garbage collector is not paid for here. */
import { setImmediate } from "node:timers/promises";
import type { Contender, OpenContender } from "./contenders/contender.ts";
import { CONTENDERS, PEERS, SERVER_CONTENDERS } from "./contenders/index.ts";
import { timed } from "./statistics.ts";
import { conversation } from "./workload.ts";

export type Command =
  | { readonly do: "open"; readonly directory: string }
  | { readonly do: "steps"; readonly directory: string; readonly from: number; readonly to: number }
  | { readonly do: "close"; readonly directory: string }
  | { readonly do: "size"; readonly directory: string }
  | { readonly do: "read"; readonly directory: string; readonly expected: number; readonly history: boolean };

export interface StepTimes {
  /** Until the save returned. */
  readonly save: number;
  /** Until the work that it left for later was done as well. */
  readonly whole: number;
  /** What it asked of a server meanwhile. */
  readonly roundTrips: number;
}

export interface ReadTimes {
  readonly openAndLoad: number;
  readonly load: number;
  readonly loadRoundTrips: number;
  readonly history: number | undefined;
}

export type Answer = { readonly result: unknown } | { readonly error: string };

if (process.send !== undefined) {
  const [name, seed, steps] = process.argv.slice(2);
  const contender = [...CONTENDERS, ...SERVER_CONTENDERS, ...PEERS.local, ...PEERS.postgres].find(
    (candidate) => candidate.name === name,
  );
  if (contender === undefined) throw new Error(`there is no contender ${JSON.stringify(name)}`);
  serve(contender, Number(seed), Number(steps));
}

function serve(contender: Contender, seed: number, steps: number): void {
  const messages = conversation(seed, steps);
  const open = new Map<string, OpenContender>();
  const obey = async (command: Command): Promise<unknown> => {
    switch (command.do) {
      case "open":
        open.set(command.directory, await contender.open(command.directory));
        return undefined;
      case "steps": {
        const times: StepTimes[] = [];
        const thread = open.get(command.directory);
        for (const message of messages.slice(command.from, command.to)) {
          let save = 0;
          const before = thread?.roundTrips?.() ?? 0;
          const whole = await timed(async () => {
            save = await timed(async () => thread?.append(message));
            await setImmediate();
          });
          times.push({ save, whole, roundTrips: (thread?.roundTrips?.() ?? 0) - before });
        }
        return times;
      }
      case "close":
        return open.get(command.directory)?.close();
      case "size":
        return contender.size?.(command.directory);
      case "read":
        return read(contender, command);
    }
  };
  // Some libraries keep connections open, which would keep the process too.
  process.on("disconnect", () => process.exit());
  process.on("message", (command: Command) => {
    obey(command).then(
      (result) => process.send?.({ result } satisfies Answer),
      (error: unknown) => process.send?.({ error: String(error) } satisfies Answer),
    );
  });
}

async function read(
  contender: Contender,
  { directory, expected, history: wanted }: Command & { readonly do: "read" },
): Promise<ReadTimes> {
  let open: OpenContender | undefined;
  const openAndLoad = await timed(async () => {
    open = await contender.open(directory);
    check(contender, "loaded", await open.load(), expected);
  });
  const before = open?.roundTrips?.() ?? 0;
  const load = await timed(async () => open?.load());
  const loadRoundTrips = (open?.roundTrips?.() ?? 0) - before;
  const list = wanted ? open?.listHistory : undefined;
  const history = list && (await timed(async () => check(contender, "listed", await list(), expected)));
  await open?.close();
  return { openAndLoad, load, loadRoundTrips, history };
}

/** A contender that is fast because it forgets would spoil the table. */
function check({ name }: Contender, what: string, found: number | undefined, expected: number): void {
  if (found !== expected) throw new Error(`${name} ${what} ${found} of ${expected}`);
}
