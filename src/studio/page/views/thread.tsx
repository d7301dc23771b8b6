import { useEffect, useState } from "preact/hooks";
import type { ThreadAnswer } from "../../api.ts";
import { about, mayDelete, mayWrite } from "../about.ts";
import { go, href, place, type ThreadTab, threadHref } from "../addresses.ts";
import { follow } from "../asking.ts";
import { openDialog, writes } from "../dialogs/open-dialog.ts";
import { useKeys } from "../keys.ts";
import { Badge, CopyButton, Loading, StandingBadges, Trouble, When } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { useAnswer } from "../use-answer.ts";
import { exactTime, numberText, shortId } from "../wording.ts";
import { ChartsView } from "./charts.tsx";
import { GraphView } from "./graph.tsx";
import { LedgerView } from "./ledger.tsx";
import { LineageView } from "./lineage.tsx";
import type { LiveThread } from "./message-tools.tsx";
import { MessagesView } from "./messages.tsx";
import { StateView } from "./state.tsx";
import { TimelineView } from "./timeline.tsx";

const AGENT_TABS: readonly (readonly [tab: ThreadTab, label: string])[] = [
  ["messages", "Messages"],
  ["timeline", "Timeline"],
  ["ledger", "Calls"],
  ["state", "State"],
  ["lineage", "Lineage"],
  ["charts", "Charts"],
];
const GRAPH_TABS: readonly (readonly [tab: ThreadTab, label: string])[] = [
  ["graph", "Channels"],
  ["timeline", "Timeline"],
  ["lineage", "Lineage"],
  ["charts", "Charts"],
];

/** Follows the thread: new checkpoints are announced, and shown on request. */
function useLive(thread: string, head: ThreadAnswer | undefined, again: () => void): LiveThread {
  const [shown, setShown] = useState<{ thread: string; head: string; messages: number }>();
  const [newest, setNewest] = useState<{ head: string; messages: number }>();
  const [isFollowing, setFollowing] = useState(false);
  useEffect(() => {
    if (head === undefined) return;
    const seen = { thread, head: head.checkpointId, messages: head.messages ?? 0 };
    setShown((before) => (before === undefined || before.thread !== thread ? seen : before));
    setNewest({ head: head.checkpointId, messages: head.messages ?? 0 });
  }, [head, thread]);
  // After a write of this page, the newest is shown without being asked for.
  useEffect(() => {
    if (writes.value > 0) setShown(undefined);
  }, [writes.value]);
  useEffect(() => {
    const ending = new AbortController();
    const listen = async (): Promise<void> => {
      try {
        for await (const line of follow("events", { thread, signal: ending.signal })) {
          setFollowing(true);
          if (line.type !== "saved") continue;
          setNewest({ head: line.checkpointId, messages: line.messages });
          again();
        }
      } catch {
        // Told by the banner; tried again below.
      }
      setFollowing(false);
      if (!ending.signal.aborted) setTimeout(() => void listen(), 3000);
    };
    void listen();
    return () => ending.abort();
  }, [thread]);
  const isCurrent = shown?.thread === thread;
  return {
    shownHead: isCurrent ? shown.head : head?.checkpointId,
    shownMessages: isCurrent ? shown.messages : (head?.messages ?? 0),
    news:
      isCurrent && newest !== undefined && newest.head !== shown.head
        ? Math.max(1, newest.messages - shown.messages)
        : 0,
    isFollowing,
    showNews: () => newest !== undefined && setShown({ thread, ...newest }),
  };
}

export const ThreadView = ({ thread, tab }: { readonly thread: string; readonly tab: ThreadTab }) => {
  const at = place.value.query["at"];
  const { answer, failure, again } = useAnswer("thread", thread, {});
  useEffect(again, [writes.value]);
  const live = useLive(thread, answer, again);
  const tabs = answer?.kind === "graph" ? GRAPH_TABS : AGENT_TABS;
  useKeys({
    ...Object.fromEntries(tabs.map(([name], index) => [String(index + 1), () => go(["t", thread, name], { at })])),
    F: () => mayWrite.value && answer?.kind === "agent" && openDialog({ kind: "fork", thread, at }),
  });
  return (
    <main class="view thread-view" id="main">
      <div class="head thread-head">
        <nav class="crumbs faint" aria-label="Where you are">
          <a href={href(["threads"])}>Threads</a>
        </nav>
        <h1>
          <span class="id">{thread}</span>
          <CopyButton text={thread} what="the thread's id" />
        </h1>
        {answer !== undefined && <Facts answer={answer} />}
        <div class="actions">
          {at !== undefined && <Badge tone="note">at {shortId(at)}</Badge>}
          {mayWrite.value && answer?.kind === "agent" && (
            <button type="button" class="small" onClick={() => openDialog({ kind: "fork", thread, at })}>
              <Icon name="fork" /> Fork
            </button>
          )}
          {mayDelete.value && (
            <button type="button" class="small quiet" onClick={() => openDialog({ kind: "delete", thread })}>
              <Icon name="trash" /> Delete
            </button>
          )}
          {answer?.kind === "agent" && (
            <CopyButton what="the CLI line that shows this" label="CLI" text={commandLine(thread, at)} />
          )}
        </div>
        <nav class="tabs" aria-label="Parts of this thread">
          {tabs.map(([name, label]) => (
            <a key={name} href={threadHref(thread, name, { at })} aria-current={tab === name ? "page" : undefined}>
              {label}
            </a>
          ))}
        </nav>
      </div>
      {failure !== undefined && answer === undefined ? (
        <Trouble failure={failure} again={again} />
      ) : answer === undefined ? (
        <Loading what="the thread" />
      ) : (
        <Tab tab={tab} thread={thread} at={at} live={live} />
      )}
    </main>
  );
};

/** Typed into a shell, it shows what is on this page. */
function commandLine(thread: string, at: string | undefined): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  return `holdfast show ${quoted(about.value?.store ?? "")} ${quoted(thread)}${at === undefined ? "" : ` --at ${quoted(at)}`}`;
}

const Facts = ({ answer }: { readonly answer: ThreadAnswer }) => (
  <p class="facts">
    <StandingBadges standing={answer.standing} />
    {answer.lease !== undefined && (
      <Badge tone="calm" icon="lock" title={`until ${exactTime(answer.lease.until)}, token ${answer.lease.token}`}>
        held by {answer.lease.owner}
      </Badge>
    )}
    {answer.lease !== undefined && mayWrite.value && (
      <button
        type="button"
        class="small quiet"
        onClick={() =>
          openDialog({
            kind: "lease",
            thread: answer.threadId,
            owner: answer.lease?.owner ?? "",
            token: answer.lease?.token ?? "",
          })
        }
      >
        Take it from them
      </button>
    )}
    <span class="faint">
      saved <When at={answer.lastAt} />
    </span>
    {answer.forkedFrom !== undefined && (
      <span class="faint">
        forked from{" "}
        <a href={threadHref(answer.forkedFrom.threadId, "messages", { at: answer.forkedFrom.checkpointId })}>
          {answer.forkedFrom.threadId}
        </a>
        {" · "}
        <a href={href(["compare"], { a: answer.forkedFrom.threadId, b: answer.threadId })}>compare</a>
      </span>
    )}
    {answer.kind === "graph" && <span class="faint">{numberText(answer.seq)} records</span>}
  </p>
);

const Tab = ({
  tab,
  thread,
  at,
  live,
}: {
  readonly tab: ThreadTab;
  readonly thread: string;
  readonly at: string | undefined;
  readonly live: LiveThread;
}) => {
  const news = live.shownHead ?? "";
  switch (tab) {
    case "timeline":
      return <TimelineView thread={thread} news={news} />;
    case "ledger":
      return <LedgerView thread={thread} at={at} news={news} />;
    case "state":
      return <StateView thread={thread} at={at} news={news} />;
    case "lineage":
      return <LineageView thread={thread} />;
    case "charts":
      return <ChartsView thread={thread} />;
    case "graph":
      return <GraphView thread={thread} at={at} />;
    default:
      return <MessagesView thread={thread} at={at} live={live} />;
  }
};
