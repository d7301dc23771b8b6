import { useEffect, useRef, useState } from "preact/hooks";
import type { ShownMessage } from "../../api.ts";
import { place as address, adjust } from "../addresses.ts";
import { ask } from "../asking.ts";
import { writes } from "../dialogs/open-dialog.ts";
import { useKeys } from "../keys.ts";
import { AnchoredList, type ListHandle } from "../parts/anchored-list.tsx";
import { Empty, Loading, Trouble } from "../parts/basics.tsx";
import { MessageCard } from "../parts/message-card.tsx";
import { useAnswer } from "../use-answer.ts";
import { numberText, plural } from "../wording.ts";
import { type LiveThread, MessageTools } from "./message-tools.tsx";

const CHUNK = 50;
const MOST_CHUNKS = 40;

/** Pages of messages, read where they are looked at; those looked at longest ago are forgotten. */
class MessagePages {
  readonly #pages = new Map<number, readonly ShownMessage[] | "asked">();
  readonly #thread: string;
  readonly #at: string | undefined;
  readonly #onNews: () => void;

  constructor(thread: string, at: string | undefined, onNews: () => void) {
    this.#thread = thread;
    this.#at = at;
    this.#onNews = onNews;
  }

  get(index: number): ShownMessage | undefined {
    const page = this.#pages.get(Math.floor(index / CHUNK));
    return page === undefined || page === "asked" ? undefined : page[index % CHUNK];
  }

  want(from: number, until: number): void {
    for (let chunk = Math.floor(from / CHUNK); chunk * CHUNK < until; chunk++) {
      const known = this.#pages.get(chunk);
      this.#pages.delete(chunk);
      this.#pages.set(chunk, known ?? "asked");
      if (known === undefined) void this.#read(chunk);
    }
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= MOST_CHUNKS) break;
      this.#pages.delete(oldest);
    }
  }

  /** A page of large messages comes in several answers. */
  async #read(chunk: number): Promise<void> {
    const messages: ShownMessage[] = [];
    try {
      for (;;) {
        const query = { at: this.#at, from: chunk * CHUNK + messages.length, count: CHUNK - messages.length };
        const answer = await ask("messages", { thread: this.#thread, query });
        messages.push(...answer.messages);
        if (this.#pages.has(chunk)) this.#pages.set(chunk, [...messages]);
        this.#onNews();
        if (
          answer.messages.length === 0 ||
          messages.length >= CHUNK ||
          answer.from + answer.messages.length >= answer.total
        )
          return;
      }
    } catch {
      this.#pages.delete(chunk);
      setTimeout(this.#onNews, 2000);
    }
  }
}

/** A thread as the conversation that it is, at any checkpoint. */
export const MessagesView = ({
  thread,
  at,
  live,
}: {
  readonly thread: string;
  readonly at: string | undefined;
  readonly live: LiveThread;
}) => {
  // The newest checkpoint's header has said how many there are; of another one, its state has to.
  const past = useAnswer("messages", thread, { at, from: 0, count: 1 }, { when: at !== undefined });
  const known = at === undefined ? { total: live.shownMessages, checkpointId: live.shownHead } : past.answer;
  if (at !== undefined && past.failure !== undefined && past.answer === undefined) {
    return <Trouble failure={past.failure} again={past.again} />;
  }
  if (known?.checkpointId === undefined) return <Loading what="the conversation" />;
  const { total, checkpointId } = known;
  if (total === 0)
    return (
      <Empty title="No messages yet">
        <p>This checkpoint has no messages.</p>
      </Empty>
    );
  // Another checkpoint, or a write from this page: the messages are read anew.
  return (
    <Conversation
      key={`${thread}\n${at ?? ""}\n${writes.value}`}
      thread={thread}
      at={at}
      checkpointId={checkpointId}
      total={total}
      live={live}
    />
  );
};

const Conversation = ({
  thread,
  at,
  checkpointId,
  total,
  live,
}: {
  readonly thread: string;
  readonly at: string | undefined;
  readonly checkpointId: string;
  readonly total: number;
  readonly live: LiveThread;
}) => {
  const [, redraw] = useState(0);
  const pages = useRef<MessagePages>(undefined);
  const pagesOf = useRef("");
  if (pages.current === undefined || pagesOf.current !== checkpointId) {
    // A new head has the old messages and more: what is on screen stays until the new pages are there.
    pages.current = new MessagePages(thread, checkpointId, () => redraw((turn) => turn + 1));
    pagesOf.current = checkpointId;
  }
  const list = useRef<ListHandle>(null);
  const asked = Number(address.value.query["m"] ?? Number.NaN);
  const start = Number.isInteger(asked) && asked >= 1 ? Math.min(asked, total) - 1 : undefined;
  const [selected, select] = useState<number | undefined>(start);
  const range = useRef({ from: 0, until: 0 });
  const show = (index: number): void => {
    const wanted = Math.max(0, Math.min(total - 1, index));
    select(wanted);
    adjust({ m: wanted + 1 });
    list.current?.show(wanted);
    requestAnimationFrame(() =>
      document.querySelector<HTMLElement>(`[data-message="${wanted}"]`)?.focus({ preventScroll: true }),
    );
  };
  const current = (): number => selected ?? list.current?.top() ?? 0;
  useKeys({
    j: () => show(selected === undefined ? current() : selected + 1),
    k: () => show(current() - 1),
    "g g": () => show(0),
    G: () => {
      select(total - 1);
      adjust({ m: total });
      list.current?.toEnd();
    },
  });
  // The address may name another message while this view is open: by a link, or by "back".
  useEffect(() => {
    if (start === undefined || start === selected) return;
    select(start);
    list.current?.show(start);
  }, [start]);
  useEffect(() => pages.current?.want(range.current.from, range.current.until), [checkpointId]);
  const isNewest = at === undefined;
  const card = { thread, at: checkpointId, isNewest, total, canEdit: true };
  return (
    <div class="conversation">
      <MessageTools
        thread={thread}
        at={checkpointId}
        total={total}
        current={current}
        show={show}
        live={live}
        isPast={at !== undefined}
        toEnd={() => list.current?.toEnd()}
      />
      <AnchoredList
        count={total}
        start={start ?? "end"}
        handle={list}
        label={`Messages of ${thread}, ${plural(total, "message")}`}
        onWindow={(from, until) => {
          range.current = { from, until };
          pages.current?.want(from, until);
        }}
        row={(index) => {
          const message = pages.current?.get(index);
          if (message !== undefined)
            return <MessageCard message={message} place={card} isSelected={index === selected} />;
          return (
            <article
              class="message ghost"
              aria-posinset={index + 1}
              aria-setsize={total}
              aria-label={`Message ${numberText(index + 1)}, being read`}
            />
          );
        }}
      />
    </div>
  );
};
