import { useEffect } from "preact/hooks";
import { mayWrite } from "../about.ts";
import { href } from "../addresses.ts";
import { openDialog, writes } from "../dialogs/open-dialog.ts";
import { Badge, CopyButton, Loading, Trouble, When } from "../parts/basics.tsx";
import { membersOf, ValueTree } from "../parts/value-tree.tsx";
import { useAnswer } from "../use-answer.ts";
import { bytesText, exactTime, numberText, plural } from "../wording.ts";

const TOTALS: Readonly<Record<string, string>> = {
  runs: "runs",
  iterations: "model calls",
  toolCalls: "tool calls",
  inputTokens: "input tokens",
  cachedInputTokens: "of them cached",
  outputTokens: "output tokens",
};

/** One checkpoint: its facts, and every field of its state. */
export const StateView = ({
  thread,
  at,
  news,
}: {
  readonly thread: string;
  readonly at: string | undefined;
  readonly news: string;
}) => {
  const { answer, failure, again } = useAnswer("state", thread, { at });
  useEffect(again, [news, writes.value]);
  if (failure !== undefined && answer === undefined) return <Trouble failure={failure} again={again} />;
  if (answer === undefined) return <Loading what="the checkpoint" />;
  return (
    <div class="panel columns">
      <section>
        <h2>State</h2>
        <ValueTree
          key={answer.checkpointId}
          answer={answer.fields}
          path={[]}
          read={membersOf(thread, answer.checkpointId)}
          edit={
            mayWrite.value
              ? (path, node) =>
                  openDialog({
                    kind: "edit",
                    thread,
                    at: answer.checkpointId,
                    path,
                    what: path.join(" › "),
                    isText: node.type === "text",
                  })
              : undefined
          }
        />
      </section>
      <section class="side">
        <h2>Checkpoint</h2>
        <dl class="facts-list">
          <dt>Id</dt>
          <dd>
            <code class="wrap">{answer.checkpointId}</code>{" "}
            <CopyButton text={answer.checkpointId} what="the checkpoint's id" />
          </dd>
          <dt>Saved</dt>
          <dd>
            <When at={answer.at} /> <span class="faint">{exactTime(answer.at)}</span>
          </dd>
          <dt>Place</dt>
          <dd>
            record {numberText(answer.seq)} {answer.isNewest && <Badge tone="good">newest</Badge>}
          </dd>
          <dt>Kind</dt>
          <dd>
            {answer.kind === "base" ? "base: the whole state" : "delta: what changed"}, {bytesText(answer.bytes)}
          </dd>
          <dt>To load it</dt>
          <dd>
            {plural(answer.chainRecords, "record")}, {bytesText(answer.chainBytes)}
          </dd>
          <dt>Checksum</dt>
          <dd>
            <Badge tone="good" icon="check">
              proven
            </Badge>{" "}
            <span class="faint">each record was compared when it was read</span>
          </dd>
          <dt>Format</dt>
          <dd>
            {answer.format}
            {answer.schema > 0 && `, your schema ${answer.schema}`}
          </dd>
          <dt>Write id</dt>
          <dd>
            <code class="wrap">{answer.writeId}</code>
          </dd>
        </dl>
        <h2>Totals</h2>
        <dl class="facts-list">
          {Object.entries(answer.totals).map(([name, value]) => (
            <>
              <dt key={name}>{TOTALS[name] ?? name}</dt>
              <dd>{numberText(value)}</dd>
            </>
          ))}
        </dl>
        <h2>Metadata of the checkpoint</h2>
        <ValueTree answer={answer.metadata} path={[]} read={undefined} />
        {answer.openCalls.length > 0 && (
          <p class="faint">Open here: {answer.openCalls.map(({ name }) => name).join(", ")}.</p>
        )}
        {!answer.isNewest && (
          <p>
            <a href={href(["diff"], { a: thread, aAt: answer.checkpointId, b: thread })}>What changed since then</a>
          </p>
        )}
      </section>
    </div>
  );
};
