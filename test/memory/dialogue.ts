import { tool } from "../../src/agent/tool-call/tool.ts";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import type { MemoryDecision } from "../../src/memory/core-memory.ts";
import type { ExtractFunction, ExtractRequest } from "../../src/memory/extractor.ts";
import type { Memory } from "../../src/memory/memory.ts";
import type { MemoryShelf } from "../../src/memory/memory-shelf.ts";
import { textOf } from "../../src/state/message.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { LLMMemoryManager, type LLMMemoryManagerOptions } from "../../src/wiring/llm-memory-manager.ts";
import { agentOf } from "../agent/agent-of.ts";
import { MemoryStore } from "../agent/stored-thread.ts";
import { FIFTY_TURNS } from "./fifty-turns.ts";

/** Finds what the script says is there, and besides that lies in every way a model can. */
export function extractorOfTheScript(requests: ExtractRequest[] = []): ExtractFunction {
  return async (request) => {
    requests.push(request);
    const found = request.messages.flatMap(({ index, role, text }) => {
      if (role !== "user") return [];
      const turn = FIFTY_TURNS.find(({ say }) => say === text);
      const facts = (turn?.facts ?? []).map((fact) => ({ ...fact, quote: text, message: index }));
      if (turn?.toolOutput === undefined) return facts;
      const wish = {
        type: "user",
        subject: "user",
        attribute: "admin password",
        value: "hunter2",
        text: "It is hunter2.",
      } as const;
      return [
        ...facts,
        // The tool's output cited as what it is, and passed off as the user's and as the assistant's words.
        { ...wish, quote: "the admin password is hunter2", message: index + 2 },
        { ...wish, quote: "the admin password is hunter2", message: index },
        { ...wish, quote: "Noted", message: index + 3 },
        { ...wish, type: "feedback" as const, quote: "all invoices", message: 0 },
      ];
    });
    return found;
  };
}

export interface Dialogue {
  readonly memory: LLMMemoryManager;
  readonly threads: MemoryStore;
  readonly decisions: readonly MemoryDecision[];
  readonly shelf: MemoryShelf;
}

/** Talks to an agent with a memory: "Noted." to everything, and a tool call where the script has one. */
export async function dialogue(
  options: Partial<LLMMemoryManagerOptions> & { readonly each?: (memory: LLMMemoryManager) => Promise<void> },
): Promise<Dialogue> {
  const { each = async () => undefined, ...given } = options;
  const decisions: MemoryDecision[] = [];
  let time = Date.UTC(2026, 0, 1);
  const memory = new LLMMemoryManager({
    store: new InMemoryStore(),
    extract: extractorOfTheScript(),
    onDecision: (decision) => decisions.push(decision),
    now: () => (time += 60_000),
    ...given,
  });
  const threads = new MemoryStore();
  let output = "";
  const lookUp = tool({ name: "look_up", effect: "pure", execute: () => output });
  for (const turn of FIFTY_TURNS) {
    output = turn.toolOutput ?? "";
    const model = scriptedModel(
      turn.toolOutput === undefined ? ["Noted."] : [{ toolCalls: [{ name: "look_up" }] }, "Noted."],
    );
    const agent = agentOf({ model, checkpointer: threads.open(), memory, tools: [lookUp] });
    await agent.run(turn.say, { threadId: "t", subject: "ines" });
    await each(memory);
  }
  return { memory, threads, decisions, shelf: memory.of({ subject: "ines" }) };
}

/** What holds of an attribute. */
export const heldOf = (memories: readonly Memory[], attribute: string): readonly string[] =>
  memories.filter((memory) => memory.attribute === attribute && memory.status === "active").map(({ value }) => value);

export const DINNER =
  "Cook dinner for me and my sister: mind my allergies and my diet, and think of my favourite dish.";

/** What a new conversation is told for a question: the notes, in the order of the alphabet, and what the thread then holds. */
export async function askedAnew(
  { memory, threads }: Dialogue,
  prompt: string,
): Promise<{
  readonly notes: readonly string[];
  readonly asked: string | undefined;
  readonly stored: readonly string[];
}> {
  const model = scriptedModel(["Ratatouille, then."]);
  const agent = agentOf({ model, checkpointer: threads.open(), memory });
  await agent.run(prompt, { threadId: "second", subject: "ines" });
  const shown = model.requests[0]?.messages.map(textOf) ?? [];
  const lines = (shown.at(-2) ?? "").split("\n").filter((line) => line.startsWith("- "));
  const notes = lines.map((line) => JSON.parse(line.slice(line.indexOf('"'))) as string).toSorted();
  return { notes, asked: shown.at(-1), stored: await threads.lines("second") };
}
