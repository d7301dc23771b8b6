import { useEffect, useState } from "preact/hooks";
import type { InboxEntry } from "../../api.ts";
import { mayWrite } from "../about.ts";
import { threadHref } from "../addresses.ts";
import { ask } from "../asking.ts";
import { openDialog, writes } from "../dialogs/open-dialog.ts";
import { useKeys } from "../keys.ts";
import { Badge, CopyButton, Empty, Loading, Trouble, When } from "../parts/basics.tsx";
import { useAnswer } from "../use-answer.ts";

type Shown = readonly [words: string, tone: "ask" | "alarm"];
const KIND: Readonly<Record<InboxEntry["kind"], Shown>> = {
  question: ["asks a question", "ask"],
  approval: ["wants approval", "ask"],
  external: ["waits for its outcome", "ask"],
};
const IN_DOUBT: Shown = ["in doubt", "alarm"];

/** Everything that waits for a person, over all threads, what waited longest first. */
export const InboxView = () => {
  const { answer, failure, again } = useAnswer("inbox", undefined, {}, { every: 5000 });
  const [more, setMore] = useState<readonly InboxEntry[]>([]);
  const [cursor, setCursor] = useState<string>();
  useEffect(again, [writes.value]);
  useEffect(() => {
    setMore([]);
    setCursor(answer?.cursor);
  }, [answer]);
  const items = [...(answer?.items ?? []), ...more];
  const move = (by: number): void => {
    const cards = [...document.querySelectorAll<HTMLElement>(".inbox .card")];
    const at = cards.indexOf(document.activeElement?.closest(".card") as HTMLElement);
    cards[Math.max(0, Math.min(cards.length - 1, at + by))]?.focus();
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  return (
    <main class="view" id="main">
      <div class="head">
        <h1>Inbox</h1>
        <p class="faint">What waits for a person, over all threads.</p>
      </div>
      {failure !== undefined && answer === undefined && <Trouble failure={failure} again={again} />}
      {answer === undefined && failure === undefined && <Loading what="the inbox" />}
      {answer !== undefined && items.length === 0 && (
        <Empty title="Nothing waits for you">
          <p>Questions of agents, requests for approval and calls in doubt appear here by themselves.</p>
        </Empty>
      )}
      <ul class="cards inbox">
        {items.map((item) => (
          <Item key={`${item.threadId}\n${item.id}`} item={item} />
        ))}
      </ul>
      {cursor !== undefined && (
        <button
          type="button"
          onClick={() =>
            void ask("inbox", { query: { cursor } }).then((next) => {
              setMore([...more, ...next.items]);
              setCursor(next.cursor);
            })
          }
        >
          Show more
        </button>
      )}
      {(answer?.warnings ?? []).map((warning) => (
        <p key={warning} class="faint">
          {warning}
        </p>
      ))}
    </main>
  );
};

const Item = ({ item }: { readonly item: InboxEntry }) => {
  const [words, tone] = item.isInDoubt ? IN_DOUBT : KIND[item.kind];
  const act = (): void => {
    const {
      threadId: thread,
      id,
      toolCallId,
      toolName,
      idempotencyKey,
      question,
      schema,
      since = 0,
      kind,
      isInDoubt,
    } = item;
    if (isInDoubt)
      openDialog({
        kind: "settle",
        thread,
        execution: { toolCallId, toolName, ...(idempotencyKey !== undefined && { idempotencyKey }) },
      });
    else
      openDialog({
        kind: "answer",
        thread,
        about: item.arguments.text,
        question: { id, kind, question, askedAt: since, ...(schema !== undefined && { schema }) },
      });
  };
  return (
    <li class={`card ${tone}`} tabIndex={-1}>
      <div class="card-head">
        <code class="tool-name">{item.toolName}</code>
        <Badge tone={tone} icon={tone === "ask" ? "question" : "warning"}>
          {words}
        </Badge>
        <a href={threadHref(item.threadId)}>{item.threadId}</a>
        <span class="faint place">
          <When at={item.since} />
        </span>
      </div>
      <p class="question-text">{item.question.text}</p>
      {item.arguments.length > 2 && (
        <pre class="plain" tabIndex={0}>
          {item.arguments.text}
        </pre>
      )}
      {item.idempotencyKey !== undefined && item.isInDoubt && (
        <p class="faint">
          Key <code class="wrap">{item.idempotencyKey}</code>{" "}
          <CopyButton text={item.idempotencyKey} what="the idempotency key" />
        </p>
      )}
      {mayWrite.value ? (
        <button type="button" class="primary small" onClick={act}>
          {item.isInDoubt ? "Say how it ended" : item.kind === "approval" ? "Decide" : "Answer"}
        </button>
      ) : (
        <p class="faint">
          Start Studio with <code>--write</code> to answer here.
        </p>
      )}
    </li>
  );
};
