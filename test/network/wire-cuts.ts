import { expect } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../src/checkpoint/context.ts";
import { StateError } from "../../src/errors.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { textOf, userMessage } from "../../src/state/message.ts";
import { type ArmedCut, type CuttingProxy, DIRECTIONS, type Direction, startCuttingProxy } from "./cutting-proxy.ts";

/** A storage behind a wire. */
export interface WiredStorage {
  readonly targetPort: number;
  /** Opens it as a user would, with the server at that port of this machine. */
  open(port: number, options: CheckpointerOptions): Promise<Checkpointer>;
}

export interface WireCuts {
  /** 1 cuts at every byte, 7 at every seventh. */
  readonly every: number;
  /** The first byte that is cut at, below `every`. */
  readonly offset: number;
  /** Whether each cut meets a new connection, so that greeting and login are cut too. */
  readonly onNewConnections: boolean;
}

export interface CutReport {
  readonly cuts: number;
  /** Operations that failed because of the cut. */
  readonly failed: number;
  /** Saves that failed for the caller and were in the thread all the same. */
  readonly appliedUnseen: number;
}

/** Nothing may take longer, whatever was cut. Far above every timeout: this is about hanging, not about speed. */
const DEADLINE_MS = 200_000;
/** So that what is proven after each cut stays small. */
const SAVES_PER_THREAD = 40;
const ONCE = { retry: { attempts: 1 } };

/**
 * Saves, and cuts the connection after each byte of it. The caller then makes
 * the same call again, as the error tells it to. Whatever the byte: the message
 * is in the thread once, no rival is reported, and nothing hangs.
 */
export async function cutSaves(storage: WiredStorage, cuts: WireCuts): Promise<CutReport> {
  return atEveryByte(storage, cuts, async ({ wired, direct, arm, count }) => {
    // Reading what it builds on would open the connection: a new one begins with a save that builds on nothing.
    const threadId = cuts.onNewConnections ? `new ${count}` : `saved ${Math.floor(count / SAVES_PER_THREAD)}`;
    const known = cuts.onNewConnections ? undefined : await wired.load(threadId);
    const state = (known ?? AgentState.create()).withMessage(userMessage(`message ${count}`));
    const expected = state.messages.map(textOf);
    const cut = arm();
    const failure = await failureOf(wired.save(state, threadId));
    const applied = (await direct.load(threadId))?.messages.length === expected.length;
    if (failure === undefined) expect(applied, "a save that returned is in the thread").toBe(true);
    else await untilDone(() => wired.save(state, threadId));
    const found = await direct.load(threadId);
    expect(found?.messages.map(textOf)).toEqual(expected);
    expect(expected).toHaveLength(cuts.onNewConnections ? 1 : (count % SAVES_PER_THREAD) + 1);
    expect(await direct.listCheckpoints(threadId, { limit: 1000 })).toHaveLength(expected.length);
    return { fired: cut.fired, failed: failure !== undefined, appliedUnseen: failure !== undefined && applied };
  });
}

/** Enough that most of them wait for others. */
const GROUP = 6;

/** As `cutSaves`, with saves of several threads at once, which share their way to the server. Whatever the byte: each is in its thread once. */
export async function cutGroups(storage: WiredStorage, cuts: WireCuts): Promise<CutReport> {
  return atEveryByte(storage, cuts, async ({ wired, direct, arm, count }) => {
    const ids = Array.from({ length: GROUP }, (_, index) => `group ${Math.floor(count / SAVES_PER_THREAD)}.${index}`);
    const states = await Promise.all(
      ids.map(async (id) =>
        ((await direct.load(id)) ?? AgentState.create()).withMessage(userMessage(`${id}: message ${count}`)),
      ),
    );
    const save = (index: number): Promise<unknown> => wired.save(states[index] as AgentState, ids[index] as string);
    const cut = arm();
    const failures = await Promise.all(ids.map((_, index) => failureOf(save(index))));
    let appliedUnseen = false;
    for (const [index, id] of ids.entries()) {
      const expected = (states[index] as AgentState).messages.map(textOf);
      const applied = (await direct.load(id))?.messages.length === expected.length;
      if (failures[index] === undefined) expect(applied, "a save that returned is in the thread").toBe(true);
      else await untilDone(() => save(index));
      appliedUnseen ||= failures[index] !== undefined && applied;
      expect((await direct.load(id))?.messages.map(textOf)).toEqual(expected);
      expect(await direct.listCheckpoints(id, { limit: 1000 })).toHaveLength(expected.length);
    }
    const failed = failures.some((failure) => failure !== undefined);
    return { fired: cut.fired, failed, appliedUnseen };
  });
}

/** Loads, and cuts the connection after each byte of it: the state, or an error that says to try again; never "absent". */
export async function cutLoads(storage: WiredStorage, cuts: WireCuts): Promise<CutReport> {
  const state = AgentState.create().withMessage(userMessage("what is there")).withMetadata({ known: true });
  return atEveryByte(storage, cuts, async ({ wired, direct, arm }) => {
    if (!(await direct.exists("loaded"))) await direct.save(state, "loaded");
    const cut = arm();
    let found: AgentState | undefined;
    const failure = await failureOf(
      wired.load("loaded").then((loaded) => {
        found = loaded;
      }),
    );
    if (failure === undefined) expect(found?.messages).toEqual(state.messages);
    else expect((await untilDone(() => wired.load("loaded")))?.messages).toEqual(state.messages);
    return { fired: cut.fired, failed: failure !== undefined, appliedUnseen: false };
  });
}

interface CutTurn {
  /** Through the proxy; tries nothing twice by itself. */
  readonly wired: Checkpointer;
  /** Past the proxy. */
  readonly direct: Checkpointer;
  /** Cuts from now on. */
  readonly arm: () => ArmedCut;
  readonly count: number;
}

type TurnOutcome = { readonly fired: boolean; readonly failed: boolean; readonly appliedUnseen: boolean };

async function atEveryByte(
  storage: WiredStorage,
  { every, offset, onNewConnections }: WireCuts,
  turn: (turn: CutTurn) => Promise<TurnOutcome>,
): Promise<CutReport> {
  const proxy = await startCuttingProxy({ targetPort: storage.targetPort });
  const direct = await storage.open(storage.targetPort, {});
  let wired = await storage.open(proxy.port, ONCE);
  let [count, cuts, failed, appliedUnseen] = [0, 0, 0, 0];
  for (const direction of DIRECTIONS) {
    for (let bytes = offset, missed = 0; missed < 2; bytes += every) {
      if (onNewConnections) {
        await wired.close();
        wired = await storage.open(proxy.port, ONCE);
      } else await untilDone(() => wired.exists("warm"));
      let cut: ArmedCut | undefined;
      const arm = (): ArmedCut => {
        cut = proxy.cutAfter({ direction, bytes });
        return cut;
      };
      const outcome = await within(turn({ wired, direct, arm, count: count++ }), direction, bytes, proxy);
      cut?.disarm();
      if (outcome.fired) cuts++;
      // An operation that was over before the cut has no more bytes; twice, since lengths vary by a digit.
      missed = outcome.fired ? 0 : missed + 1;
      if (outcome.failed) failed++;
      if (outcome.appliedUnseen) appliedUnseen++;
    }
  }
  await wired.close();
  await direct.close();
  await proxy.close();
  return { cuts, failed, appliedUnseen };
}

async function within<T>(work: Promise<T>, direction: Direction, bytes: number, proxy: CuttingProxy): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `hung after a cut at byte ${bytes} ${direction}; ${JSON.stringify(proxy.forwarded)} were forwarded`;
    timer = setTimeout(() => reject(new Error(message)), DEADLINE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    throw new Error(`cut at byte ${bytes} ${direction}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** The error, which must be one that says to try again. */
async function failureOf(work: Promise<unknown>): Promise<StateError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (!StateError.is(error) || !error.retryable) throw error;
    return error;
  }
}

/** Other connections of a pool may have been cut too; each attempt finds one of them out. */
async function untilDone<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 5 || !StateError.is(error) || !error.retryable) throw error;
    }
  }
}
