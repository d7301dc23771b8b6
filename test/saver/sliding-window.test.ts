import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import type { AppendOutcome, AppendRequest } from "../../src/checkpoint/log/thread-log.ts";
import { CheckpointSaver } from "../../src/saver/checkpoint-saver.ts";

const MESSAGE_BYTES = 1000;
const WINDOW = 100;

class WeighedLog extends MemoryLog {
  bytes = 0;

  override append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    for (const { body, header } of [request.record, ...(request.more ?? [])])
      this.bytes += body.byteLength + header.length;
    return super.append(threadId, request);
  }
}

interface Message {
  readonly id: string;
  readonly text: string;
}

const message = (name: string): Message => ({ id: name, text: name.padEnd(MESSAGE_BYTES, ".") });

/** What a graph keeps of its messages after a step. */
const WINDOWS: Readonly<Record<string, (all: readonly Message[]) => readonly Message[]>> = {
  "the last hundred": (all) => all.slice(-WINDOW),
  "a summary, written anew every fiftieth step, and the last hundred": (all) => [
    message(`summary ${Math.floor(all.length / 50)}`),
    ...all.slice(-WINDOW),
  ],
  "the first one, and the last hundred without every tenth": (all) => [
    ...all.slice(0, 1),
    ...all.slice(-WINDOW).filter((_, index) => index % 10 !== 0),
  ],
};

test.each(Object.entries(WINDOWS))("of a list that is %s, a step stores what is new", async (_, window) => {
  const log = new WeighedLog();
  const saver = new CheckpointSaver({ log });
  const all: Message[] = [];
  const id = (step: number): string => `c${String(step).padStart(8, "0")}`;
  const bytesAfter = new Map<number, number>();
  for (let step = 1; step <= 1200; step++) {
    all.push(message(`message ${step}`));
    const checkpointData = { channel_values: { messages: window(all) }, channel_versions: { messages: step } };
    await saver.putWrites({
      threadId: "t",
      checkpointId: id(step - 1),
      taskId: "task",
      writes: [["messages", all.slice(-1)]],
    });
    await saver.put({ threadId: "t", checkpointId: id(step), parentId: id(step - 1), checkpointData });
    bytesAfter.set(step, log.bytes);
  }
  const [half = 0, whole = 0] = [bytesAfter.get(600), bytesAfter.get(1200)];
  expect(whole / 1200).toBeLessThan(3 * MESSAGE_BYTES);
  expect(whole - half, "the second half costs what the first did").toBeLessThan(half * 1.35);
  const found = await new CheckpointSaver({ log }).get({ threadId: "t" });
  expect(found?.checkpointData["channel_values"]).toEqual({ messages: window(all) });
});
