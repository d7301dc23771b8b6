import { useEffect, useState } from "preact/hooks";
import type { DiffAnswer, DiffSide, MessagesAnswer, ShownMessage } from "../../api.ts";
import { ask } from "../asking.ts";
import { type CardPlace, MessageCard } from "../parts/message-card.tsx";

const PAGE = 50;

/** The messages of a side from where both part, page by page. */
export function useTail(
  side: DiffSide,
  from: number,
): { messages: readonly ShownMessage[]; isMore: boolean; readOn: () => void } {
  const [messages, setMessages] = useState<readonly ShownMessage[]>([]);
  const read = (start: number): Promise<MessagesAnswer> =>
    ask("messages", { thread: side.threadId, query: { at: side.checkpointId, from: start, count: PAGE } });
  useEffect(() => {
    let isOver = false;
    setMessages([]);
    void read(from).then(
      (answer) => !isOver && setMessages(answer.messages),
      () => undefined,
    );
    return () => {
      isOver = true;
    };
  }, [side.threadId, side.checkpointId, from]);
  const next = from + messages.length;
  return {
    messages,
    isMore: next < side.messages,
    readOn: () => void read(next).then((answer) => setMessages([...messages, ...answer.messages])),
  };
}

export const cardPlace = ({ threadId, checkpointId, messages }: DiffSide): CardPlace => ({
  thread: threadId,
  at: checkpointId,
  isNewest: false,
  total: messages,
  canEdit: false,
});

/** A turn begins with what the user said. */
function turnsOf(messages: readonly ShownMessage[]): readonly (readonly ShownMessage[])[] {
  const turns: ShownMessage[][] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (last === undefined || message.role === "user") turns.push([message]);
    else last.push(message);
  }
  return turns;
}

export const SideBySide = ({ answer: { a, b, shared } }: { readonly answer: DiffAnswer }) => {
  const left = useTail(a, shared);
  const right = useTail(b, shared);
  const [turnsA, turnsB] = [turnsOf(left.messages), turnsOf(right.messages)];
  const column = (turn: readonly ShownMessage[] | undefined, side: DiffSide) => (
    <div class="column" role="group" aria-label={side.threadId}>
      {turn === undefined ? (
        <p class="faint none">{side.threadId} ends here.</p>
      ) : (
        turn.map((message) => <MessageCard key={message.index} message={message} place={cardPlace(side)} />)
      )}
    </div>
  );
  return (
    <section aria-label="Side by side" class="side-by-side">
      <div class="pair-head">
        <strong>{a.threadId}</strong>
        <strong>{b.threadId}</strong>
      </div>
      {Array.from({ length: Math.max(turnsA.length, turnsB.length) }, (_, index) => (
        <div class="pair" key={index}>
          {column(turnsA[index], a)}
          {column(turnsB[index], b)}
        </div>
      ))}
      {(left.isMore || right.isMore) && (
        <button
          type="button"
          onClick={() => {
            if (left.isMore) left.readOn();
            if (right.isMore) right.readOn();
          }}
        >
          Show more
        </button>
      )}
    </section>
  );
};
