/** A process that saves without a pause, for bench/vacuum.ts: `vacuum-writer-program.ts <url> <schema> <index> <ms its clock is ahead>`. */
import { postgresqlCheckpointer } from "../src/backends/postgres/index.ts";
import { AgentState, userMessage } from "../src/index.ts";

/** Its command: a number of saves, or saves until it is told to stop. */
export type WriterCommand = { readonly saves: number } | { readonly untilStopped: true } | { readonly stop: true };
/** How long each save took, in milliseconds. */
export type WriterAnswer = { readonly times: readonly number[] };

const SAVES_OF_A_THREAD = 50;
const [url = "", schema = "", index = "", ahead = "0"] = process.argv.slice(2);
const now = (): number => Date.now() + Number(ahead);
const checkpointer = postgresqlCheckpointer({ dsn: url, schema, now, maxConnections: 2, connectTimeoutMs: 60_000 });
let isOver = false;
let saved = 0;
let state = AgentState.create();

async function save(goesOn: (count: number) => boolean): Promise<WriterAnswer> {
  const times: number[] = [];
  while (goesOn(times.length)) {
    if (saved % SAVES_OF_A_THREAD === 0) state = AgentState.create();
    state = state.withMessage(userMessage(`turn ${saved} of writer ${index}`));
    const begun = performance.now();
    await checkpointer.save(state, `writer-${index}-${Math.floor(saved / SAVES_OF_A_THREAD)}`);
    times.push(performance.now() - begun);
    saved++;
  }
  return { times };
}

process.on("message", async (command: WriterCommand) => {
  if ("stop" in command) isOver = true;
  else process.send?.(await save((count) => ("saves" in command ? count < command.saves : !isOver)));
});
process.on("disconnect", () => void checkpointer.close());
