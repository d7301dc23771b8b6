import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import type { SeededRandom } from "../processes/seeded-random.ts";
import { type Acknowledgements, answering } from "./acknowledgements.ts";
import { effectsInMemory } from "./effects.ts";
import { Fuse } from "./fuse.ts";
import { live, type Return } from "./life.ts";
import { judgePage, watchPage } from "./page.ts";
import { stoppingLog } from "./stopping-log.ts";
import type { Store } from "./stores.ts";
import type { Story } from "./story.ts";
import { judgeTold, nothingTold } from "./told.ts";
import { judge } from "./verdict.ts";

/** One crash, or several in a row: at which await point of each process the power goes. */
export interface Scenario {
  readonly story: Story;
  readonly back: Return;
  readonly cuts: readonly number[];
  /** Of the storage that the first process has. @default at once */
  readonly acks?: Acknowledgements;
  /** A page reconnects after the first cut. */
  readonly page?: boolean;
}

export interface Outcome {
  /** The point where each cut fell; shorter than `cuts` when a process came to its end first. */
  readonly stoppedAt: readonly string[];
}

const AT_ONCE: Acknowledgements = { kind: "at once" };

let threads = 0;

/** Lives the story, cutting the power where the scenario says, and judges what is left. */
export async function survive(
  store: Store,
  { story, back, cuts, acks = AT_ONCE, page = false }: Scenario,
): Promise<Outcome> {
  const threadId = `thread ${++threads}`;
  const effects = effectsInMemory();
  const faults: string[] = [];
  const told = nothingTold();
  const acked: string[] = [];
  const opened: ThreadLog[] = [];
  const found: (AgentState | undefined)[] = [];
  const stoppedAt: string[] = [];
  const dead = new Set<string>();
  const fuses: Fuse[] = [];
  let watched: ReturnType<typeof watchPage> | undefined;
  for (const [index, cut] of [...cuts, Number.POSITIVE_INFINITY].entries()) {
    const fuse = new Fuse(cut);
    fuses.push(fuse);
    const driver = store.open();
    opened.push(driver);
    const manners = index === 0 || acks.kind === "late" ? acks : AT_ONCE;
    const log = stoppingLog(driver, fuse.point, (work) => fuse.storing(work), answering(manners, fuse));
    const peek = (id = threadId): Promise<AgentState | undefined> => fuse.alive(store.onlooker.load(id));
    const world = { point: fuse.point, effects, faults, told, peek };
    const life = live(
      {
        story,
        world,
        log,
        threadId,
        process: { number: index + 1, dead },
        hasIds: acks.kind === "straggling",
        onSaved: (id) => acked.push(id),
      },
      back,
    );
    life.catch(() => undefined);
    const end = await Promise.race([life.then(() => "came to its end"), fuse.blown.then(() => "was cut off")]);
    if (end === "came to its end") break;
    dead.add(`process ${index + 1}`);
    stoppedAt.push(fuse.reached.at(-1) ?? "");
    const left = await afresh(store, opened).load(threadId);
    judgeTold(story, told, left);
    found.push(left);
    if (page && index === 0) {
      const log = store.open();
      opened.push(log);
      watched = watchPage(log, threadId);
    }
  }
  const fresh = afresh(store, opened);
  const final = await fresh.load(threadId);
  judge({ story, back, effects: effects.all(), faults, found, final });
  judgePage((await watched) ?? [], final);
  await judgeAcknowledged(fresh, threadId, acked);
  for (const fuse of fuses) fuse.bury();
  for (const log of opened) if (store.directory !== "") await log.close();
  return { stoppedAt };
}

/** A new process's own checkpointer: nothing cached can hide a loss. */
function afresh(store: Store, opened: ThreadLog[]): Checkpointer {
  const log = store.open();
  opened.push(log);
  return new Checkpointer(log);
}

async function judgeAcknowledged(fresh: Checkpointer, threadId: string, acked: readonly string[]): Promise<void> {
  const there = new Set<string>();
  for await (const { checkpointId } of fresh.history(threadId)) there.add(checkpointId);
  const lost = acked.filter((checkpointId) => !there.has(checkpointId));
  if (lost.length > 0) throw new Error(`${lost.length} checkpoints that were announced are gone`);
}

/** Survives a cut at the first point, at the second, and so on, until the story passes untouched. */
export async function surviveEverywhere(
  store: Store,
  scenario: Omit<Scenario, "cuts">,
  random: SeededRandom,
  onPoint: (stoppedAt: readonly string[]) => void,
): Promise<void> {
  for (let cut = 1; ; cut++) {
    // Every third time the process that comes back is cut off as well.
    const cuts = cut % 3 === 0 ? [cut, 1 + random.below(40)] : [cut];
    const { stoppedAt } = await named({ ...scenario, cuts }, () => survive(store, { ...scenario, cuts }));
    if (stoppedAt.length === 0) return;
    onPoint(stoppedAt);
  }
}

/** Survives a write that is never heard of: the first one, the second, and so on. */
export async function surviveSilence(
  store: Store,
  scenario: Omit<Scenario, "cuts" | "acks">,
  kind: "unacknowledged" | "dropped" | "straggling",
  onPoint: (stoppedAt: readonly string[]) => void,
): Promise<void> {
  for (let write = 1; ; write++) {
    const silent: Scenario = { ...scenario, cuts: [Number.POSITIVE_INFINITY], acks: { kind, write } };
    const { stoppedAt } = await named(silent, () => survive(store, silent));
    if (stoppedAt.length === 0) return;
    onPoint(stoppedAt);
  }
}

/** A failure must say how to see it again. */
export async function named<T>(scenario: Scenario, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Error(`${JSON.stringify(scenario)}: ${String(error)}`, { cause: error });
  }
}
