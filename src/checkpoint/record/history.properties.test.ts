import fc from "fast-check";
import { expect, test } from "vitest";
import { exactForm } from "../../../test/exact-form.ts";
import { runs } from "../../../test/property-seed.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import type { LogCapabilities } from "../log/thread-log.ts";

/** What a thread ought to hold: its checkpoints, oldest first, kept as plain values. */
type Model = { readonly name: string; readonly form: string; readonly messages: number }[];

interface World {
  readonly checkpointer: Checkpointer;
  readonly model: Model;
  count: number;
}

type Command = (world: World) => Promise<void>;

class ByKey extends MemoryLog {
  override readonly capabilities: LogCapabilities = { ...new MemoryLog().capabilities, maxChainRecords: 3 };
}

async function save(world: World, name: string, change: (state: AgentState) => AgentState): Promise<void> {
  const { checkpointer, model } = world;
  const state = change((await checkpointer.load("t")) ?? AgentState.create());
  await checkpointer.save(state, "t", { checkpointId: name });
  const old = model.findIndex((one) => one.name === name);
  if (old !== -1) model.splice(old, 1);
  model.push({ name, form: exactForm(state.fields), messages: state.messages.length });
}

const NAMES = ["a", "b", "c", "d", "e", "f"];
const name = fc.constantFrom(...NAMES);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: name.map(
      (at): Command =>
        (world) =>
          save(world, at, (state) => state.withMessage(userMessage(`said ${world.count++}`))),
    ),
  },
  name.map(
    (at): Command =>
      (world) =>
        save(world, at, (state) => state.withMetadata({ n: world.count++ })),
  ),
  name.map(
    (at): Command =>
      (world) =>
        save(world, at, (state) => state.withHistory(state.messages.slice(-1))),
  ),
  name.map(
    (at): Command =>
      (world) =>
        save(world, at, (state) => state.withHistory(state.messages.slice(0, -1))),
  ),
  {
    weight: 3,
    arbitrary: name.map(
      (at): Command =>
        async ({ checkpointer, model }) => {
          const index = model.findIndex((one) => one.name === at);
          expect(await checkpointer.delete("t", { checkpointId: at })).toBe(index !== -1);
          if (index !== -1) model.splice(index, 1);
        },
    ),
  },
  fc.integer({ min: 1, max: 4 }).map(
    (keepLast): Command =>
      async ({ checkpointer, model }) => {
        const gone = Math.max(0, model.length - keepLast);
        expect(await checkpointer.vacuum({ keepLast })).toMatchObject({ checkpoints: gone });
        model.splice(0, gone);
      },
  ),
  fc.constant<Command>(({ checkpointer }) => checkpointer.withLease("t", async () => undefined)),
  fc.constant<Command>(async ({ checkpointer, model }) => {
    expect(await checkpointer.copyThread("t", "copy")).toBe(model.length > 0);
    if (model.length === 0) return;
    await checkpointer.delete("t");
    await checkpointer.copyThread("copy", "t");
    await checkpointer.delete("copy");
  }),
);

async function check({ checkpointer, model }: World): Promise<void> {
  const newestFirst = model.toReversed();
  const listed = await checkpointer.listCheckpoints("t", { limit: 100 });
  expect(listed.map(({ checkpointId }) => checkpointId)).toEqual(newestFirst.map((one) => one.name));
  expect(listed.map(({ messageCount }) => messageCount)).toEqual(newestFirst.map((one) => one.messages));
  expect(exactForm((await checkpointer.load("t"))?.fields)).toBe(newestFirst[0]?.form ?? exactForm(undefined));
  for (const { name: checkpointId, form } of model) {
    expect(exactForm((await checkpointer.load("t", { checkpointId }))?.fields), checkpointId).toBe(form);
  }
  expect(await checkpointer.listThreads()).toEqual(model.length === 0 ? [] : ["t"]);
}

test.each([
  ["in one range", () => new MemoryLog()],
  ["one by one", () => new ByKey()],
])(
  "any mix of saves, moved names, deletions, retention, leases and copies keeps every checkpoint exact, read %s",
  async (_, open) => {
    const property = fc.asyncProperty(fc.array(command, { maxLength: 30, size: "max" }), async (commands) => {
      const world: World = { checkpointer: new Checkpointer(open()), model: [], count: 0 };
      for (const act of commands) await act(world);
      await check(world);
    });
    await fc.assert(property, runs(150));
  },
);

test("what is searchable is what the thread's checkpoints brought in, after any mix of changes", async () => {
  const property = fc.asyncProperty(fc.array(command, { maxLength: 20, size: "max" }), async (commands) => {
    const world: World = { checkpointer: new Checkpointer(new MemoryLog()), model: [], count: 0 };
    for (const act of commands) await act(world);
    for (let number = 0; number < world.count; number++) {
      const hits = await world.checkpointer.search(`${number} said`, { limit: 100 });
      const alive = world.model.some(({ form }) => form.includes(`"said ${number}"`));
      if (alive) expect(hits.length, `said ${number} is in a checkpoint and was not found`).toBeGreaterThan(0);
      for (const { checkpointId } of hits) expect(world.model.map((one) => one.name)).toContain(checkpointId);
    }
  });
  await fc.assert(property, runs(60));
});
