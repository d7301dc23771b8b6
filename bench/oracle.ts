import {
  OracleCheckpointSaver,
  OracleStore,
  oracleCheckpointer,
  oracleConnection,
} from "../src/backends/oracle/index.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { userMessage } from "../src/state/message.ts";
import { onMessage } from "../test/oracle-stand-in/install.ts";
import { oraclePlace } from "../test/oracle-stand-in/oracle-place.ts";
import { startPostgres } from "../test/services/postgres.ts";
import { renderTable } from "./table.ts";
import type { Verdict } from "./targets.ts";

const SHOWN = [10, 400, 4_000];
const SHOWN_OF_OTHERS = [10, 400];
const LARGE_BYTES = 100_000;

/** A save and a load of a checkpointer, a put and a get of a saver, a put and a get of a store. */
interface RoundTrips {
  readonly at: string;
  readonly save: number;
  readonly load: number;
}

/** Round trips and no times: they are the real client's own, and the server behind the stand-in is another. */
export async function benchOracle(): Promise<{ verdicts: readonly Verdict[]; roundTrips: readonly RoundTrips[] }> {
  const server = await startPostgres();
  try {
    const { dsn, user, password, dispose } = await oraclePlace(server.url);
    const connection = oracleConnection({ dsn, user, password, maxConnections: 1 });
    const checkpointer = oracleCheckpointer({ connection });
    await checkpointer.connect();
    const ofSaver = await alongSaver(new OracleCheckpointSaver({ connection }));
    const ofStore = await alongStore(new OracleStore({ connection }));
    const roundTrips = [...(await along(checkpointer)), ...ofSaver, ...ofStore, await ofLarge(checkpointer)];
    await checkpointer.close();
    await dispose();
    const rows = roundTrips.map(({ at, save, load }) => [at, String(save), String(load)]);
    console.log(`\noracle, messages that leave the client\n${renderTable(["", "save", "load"], rows)}`);
    return { verdicts: verdictsOf(roundTrips), roundTrips };
  } finally {
    await server.stop();
  }
}

async function along(checkpointer: Checkpointer): Promise<readonly RoundTrips[]> {
  const found: RoundTrips[] = [];
  let state = AgentState.create().withMessage(userMessage("a conversation"));
  for (let saves = 1; saves <= Math.max(...SHOWN); saves++) {
    state = state.withMetadata({ saves });
    const save = await messagesOf(() => checkpointer.save(state, "thread"));
    if (!SHOWN.includes(saves)) continue;
    found.push({ at: `save ${saves}`, save, load: await messagesOf(() => checkpointer.load("thread")) });
  }
  return found;
}

async function alongSaver(saver: OracleCheckpointSaver): Promise<readonly RoundTrips[]> {
  const found: RoundTrips[] = [];
  await saver.connect();
  for (let puts = 1; puts <= Math.max(...SHOWN_OF_OTHERS); puts++) {
    const checkpointId = String(puts).padStart(6, "0");
    const put = { threadId: "graph", checkpointId, checkpointData: { puts }, metadata: { step: puts } };
    const save = await messagesOf(() => saver.put(put));
    if (!SHOWN_OF_OTHERS.includes(puts)) continue;
    found.push({ at: `saver, put ${puts}`, save, load: await messagesOf(() => saver.get({ threadId: "graph" })) });
  }
  await saver.close();
  return found;
}

async function alongStore(store: OracleStore): Promise<readonly RoundTrips[]> {
  const found: RoundTrips[] = [];
  await store.connect();
  for (let puts = 1; puts <= Math.max(...SHOWN_OF_OTHERS); puts++) {
    const save = await messagesOf(() => store.put(["users"], `user ${puts % 100}`, { puts, note: "likes cats" }));
    if (!SHOWN_OF_OTHERS.includes(puts)) continue;
    found.push({ at: `store, put ${puts}`, save, load: await messagesOf(() => store.get(["users"], "user 7")) });
  }
  await store.close();
  return found;
}

async function ofLarge(checkpointer: Checkpointer): Promise<RoundTrips> {
  const state = AgentState.create().withMessage(userMessage("x".repeat(LARGE_BYTES)));
  const save = await messagesOf(() => checkpointer.save(state, "large"));
  // The first load learns that the thread is long, and the session what its columns are.
  await checkpointer.load("large");
  return { at: `${LARGE_BYTES / 1000} kB at once`, save, load: await messagesOf(() => checkpointer.load("large")) };
}

async function messagesOf(call: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const stop = onMessage(() => count++);
  await call();
  stop();
  return count;
}

function verdictsOf(found: readonly RoundTrips[]): readonly Verdict[] {
  const [small, large] = [found.slice(0, -1), found.slice(-1)];
  const worst = (of: readonly RoundTrips[], what: "save" | "load"): number => Math.max(...of.map((each) => each[what]));
  const verdict = (target: string, limit: number, measured: number): Verdict => ({
    target,
    limit,
    measured,
    shown: String(measured),
    met: measured <= limit,
  });
  return [
    verdict(`a small save, put or item is 1 round trip, up to save ${SHOWN.at(-1)}`, 1, worst(small, "save")),
    verdict(`a small load or get is 1 round trip, up to save ${SHOWN.at(-1)}`, 1, worst(small, "load")),
    verdict("a large save is at most 4 round trips", 4, worst(large, "save")),
    verdict("a large load is at most 2 round trips on a warm session", 2, worst(large, "load")),
  ];
}
