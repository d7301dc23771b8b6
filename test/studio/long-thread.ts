import {
  AgentState,
  assistantMessage,
  type Checkpointer,
  type Message,
  toolMessage,
  userMessage,
} from "../../src/index.ts";

const WORDS = "the invoice of the third quarter was overdue and the customer had not been told about it yet".split(" ");

/** Four of them are a turn: a request, a call, its result, an answer. Sizes differ, so that heights do. */
export function messageAt(index: number): Message {
  const words = (count: number): string =>
    Array.from({ length: count }, (_, at) => WORDS[(index * 7 + at * 3) % WORDS.length]).join(" ");
  const turn = Math.floor(index / 4);
  switch (index % 4) {
    case 0:
      return userMessage(`Question ${turn}: ${words(5 + (turn % 40))}`);
    case 1:
      return assistantMessage("", { toolCalls: [{ id: `call-${turn}`, name: "look_up", arguments: { turn } }] });
    case 2:
      return toolMessage(`row ${turn}: ${words(3)}`, {
        toolCallId: `call-${turn}`,
        toolName: "look_up",
        ...(turn % 250 === 100 && { isError: true }),
      });
    default:
      return assistantMessage(`Answer ${turn}. ${words(10 + (turn % 90))}`);
  }
}

/** A thread of this many messages, saved in a few large steps. */
export async function saveLongThread(
  checkpointer: Checkpointer,
  threadId: string,
  count: number,
  step = 2000,
): Promise<void> {
  let state = AgentState.create();
  for (let from = 0; from < count; from += step) {
    const size = Math.min(step, count - from);
    state = state.withMessages(Array.from({ length: size }, (_, at) => messageAt(from + at)));
    await checkpointer.save(state, threadId);
  }
}
