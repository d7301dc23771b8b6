import type { LineageNode } from "../../api.ts";
import { go, href, threadHref } from "../addresses.ts";
import { Loading, StandingBadges, TableFrame, Trouble, When } from "../parts/basics.tsx";
import { useAnswer } from "../use-answer.ts";
import { numberText, plural, shortId } from "../wording.ts";

interface Lane extends LineageNode {
  readonly lane: number;
  readonly from: number;
  readonly until: number;
}

const LEFT = 16;
const WIDTH = 640;
const LANE = 44;

/** A lane for each thread, in the order of the tree; left to right by how many messages there were. */
function lanesOf(nodes: readonly LineageNode[]): readonly Lane[] {
  const children = new Map<string | undefined, LineageNode[]>();
  const known = new Set(nodes.map(({ threadId }) => threadId));
  for (const node of nodes) {
    const parent = node.parent !== undefined && known.has(node.parent) ? node.parent : undefined;
    children.set(parent, [...(children.get(parent) ?? []), node]);
  }
  const most = Math.max(1, ...nodes.map(({ messages = 0, forkedAt }) => Math.max(messages, forkedAt?.messages ?? 0)));
  const x = (messages: number): number => LEFT + (messages / most) * WIDTH;
  const lanes: Lane[] = [];
  const add = (node: LineageNode): void => {
    const from = x(node.forkedAt?.messages ?? 0);
    const until = Math.max(x(node.messages ?? 0), from + 12);
    lanes.push({ ...node, lane: lanes.length, from, until });
    const own = [...(children.get(node.threadId) ?? [])].sort(
      (a, b) => (a.forkedAt?.messages ?? 0) - (b.forkedAt?.messages ?? 0),
    );
    for (const child of own) add(child);
  };
  for (const root of children.get(undefined) ?? []) add(root);
  return lanes;
}

export const LineageView = ({ thread }: { readonly thread: string }) => {
  const { answer, failure, again } = useAnswer("lineage", thread, {}, { every: 10_000 });
  if (failure !== undefined && answer === undefined) return <Trouble failure={failure} again={again} />;
  if (answer === undefined) return <Loading what="the lineage" />;
  const lanes = lanesOf(answer.nodes);
  const laneOf = (id: string | undefined): Lane | undefined => lanes.find(({ threadId }) => threadId === id);
  const walk = (event: KeyboardEvent, index: number): void => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    document.querySelectorAll<HTMLElement>(".lineage-table tbody a.id")[index + by]?.focus();
  };
  return (
    <section class="panel">
      {lanes.length === 1 && (
        <p>
          This thread was not forked from another, and no other was forked from it
          {answer.walk.complete ? "." : ", as far as the threads have been read."}
        </p>
      )}
      {lanes.length > 1 && (
        <div class="picture-frame" tabIndex={0} role="region" aria-label="The picture of the lineage">
          <svg
            class="lineage"
            viewBox={`0 0 ${WIDTH + LEFT * 2 + 200} ${lanes.length * LANE + 12}`}
            role="img"
            aria-label={`Lineage of ${thread}: ${plural(lanes.length, "thread")}. The table below says the same.`}
          >
            {lanes.map((lane) => {
              const y = lane.lane * LANE + 24;
              const parent = laneOf(lane.parent);
              return (
                <g
                  key={lane.threadId}
                  class={`${lane.threadId === thread ? "this" : ""} ${lane.missing === true ? "missing" : ""}`}
                >
                  {parent !== undefined && (
                    <path
                      class="branch"
                      d={`M ${lane.from} ${parent.lane * LANE + 24} C ${lane.from} ${y - 14}, ${lane.from} ${y}, ${lane.from + 12} ${y}`}
                    />
                  )}
                  <path
                    class="line"
                    d={`M ${parent === undefined ? lane.from : lane.from + 12} ${y} H ${lane.until}`}
                  />
                  <circle cx={lane.until} cy={y} r="5" />
                  <text x={lane.until + 12} y={y + 4}>
                    {lane.threadId.length > 26 ? `${lane.threadId.slice(0, 25)}…` : lane.threadId}
                  </text>
                </g>
              );
            })}
          </svg>
          <p class="faint small-print">
            Left to right by the number of messages; a hollow dot is a thread that is gone.
          </p>
        </div>
      )}
      <TableFrame label="Threads of this lineage">
        <table class="lineage-table">
          <thead>
            <tr>
              <th scope="col">Thread</th>
              <th scope="col">Forked from</th>
              <th scope="col">Standing</th>
              <th scope="col" class="number">
                Messages
              </th>
              <th scope="col">Last save</th>
              <th scope="col">
                <span class="sr-only">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {lanes.map((lane, index) => (
              <tr key={lane.threadId} class={lane.threadId === thread ? "this" : ""}>
                <td>
                  {lane.missing === true ? (
                    <span class="faint">{lane.threadId}, gone</span>
                  ) : (
                    <a class="id" href={threadHref(lane.threadId)} onKeyDown={(event) => walk(event, index)}>
                      {lane.threadId}
                    </a>
                  )}
                  {lane.threadId === thread && <span class="faint"> · this one</span>}
                </td>
                <td>
                  {lane.parent === undefined ? (
                    ""
                  ) : (
                    <>
                      {lane.parent}{" "}
                      <span class="faint">
                        {shortId(lane.forkedAt?.checkpointId ?? "")}
                        {lane.forkedAt?.messages !== undefined &&
                          `, after ${plural(lane.forkedAt.messages, "message")}`}
                      </span>
                    </>
                  )}
                </td>
                <td class="badges">
                  <StandingBadges standing={lane.standing} />
                </td>
                <td class="number">{lane.messages === undefined ? "" : numberText(lane.messages)}</td>
                <td class="nowrap">{lane.missing === true ? "" : <When at={lane.lastAt} />}</td>
                <td>
                  {lane.threadId !== thread && lane.missing !== true && (
                    <a class="button small quiet" href={href(["compare"], { a: thread, b: lane.threadId })}>
                      Compare
                    </a>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
      {answer.more && <p class="faint">There are more forks than are shown here.</p>}
      {!answer.walk.complete && (
        <p class="faint">
          Forks are found by reading all threads: {numberText(answer.walk.read)} read so far.
          {answer.walk.paused && (
            <>
              {" "}
              <button type="button" class="small" onClick={() => go(["threads"])}>
                Read on in Threads
              </button>
            </>
          )}
        </p>
      )}
    </section>
  );
};
