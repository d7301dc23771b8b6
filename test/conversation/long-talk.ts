import { CoreAgent } from "../../src/agent/agent.ts";
import type { ConversationPort, MemoryPort } from "../../src/agent/ports.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { ModelRequest } from "../../src/models/model.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";

const PLACES = ["Bern", "Basel", "Lugano", "Geneva", "Zurich", "Chur", "Sion", "Thun", "Aarau", "Olten"];
const THINGS = ["train", "museum", "market", "lake", "concert", "library", "bakery", "garden", "bridge", "tower"];
const WISHES = ["quiet", "cheap", "open late", "near the station", "good for children", "out of the rain"];

/** Words of a person with a long memory and a long talk: the same for the same number, like what people write in length. */
export function question(turn: number): string {
  const [place, thing, wish] = [pick(PLACES, turn * 7), pick(THINGS, turn * 3), pick(WISHES, turn)];
  const facts = [
    `I live in ${place}.`,
    `My favourite ${thing} is the one in ${place}.`,
    `I prefer a ${thing} that is ${wish}.`,
  ];
  const said = turn % 4 === 0 ? ` ${pick(facts, turn / 4)}` : "";
  return `In ${place} we looked for a ${thing} that is ${wish}; do you know one, and how do we get there from ${pick(PLACES, turn * 7 + 3)}?${said}`;
}

const answer = (turn: number): string =>
  `Take the train from ${pick(PLACES, turn * 7 + 3)} and change once. The ${pick(THINGS, turn * 3)} behind the old town of ${pick(PLACES, turn * 7)} is ${pick(WISHES, turn)} and worth a visit.`;

const pick = (list: readonly string[], index: number): string => list[Math.floor(index) % list.length] as string;

/** Talks for this many turns, each by an agent of its own, and returns every prompt that the model was sent. */
export async function longTalk(
  turns: number,
  parts: { readonly conversation?: ConversationPort; readonly memory?: MemoryPort; readonly systemPrompt?: string },
): Promise<readonly ModelRequest[]> {
  const checkpointer = new Checkpointer(new MemoryLog());
  const prompts: ModelRequest[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const model = scriptedModel([answer(turn)]);
    const agent = new CoreAgent({ model: async () => model, checkpointer: async () => checkpointer, ...parts });
    await agent.run(question(turn), { threadId: "t", subject: "u" });
    prompts.push(...model.requests);
  }
  return prompts;
}
