import { adjust, place, threadHref } from "../addresses.ts";
import { Badge, Empty, Loading, Trouble, When } from "../parts/basics.tsx";
import { useAnswer } from "../use-answer.ts";
import { numberText, plural, shortId } from "../wording.ts";

/** The thread of a graph, such as LangGraph's: checkpoints with channels, and writes that wait for the next one. */
export const GraphView = ({ thread, at }: { readonly thread: string; readonly at: string | undefined }) => {
  const namespace = place.value.query["ns"] ?? "";
  const { answer, failure, again } = useAnswer("graph", thread, { namespace, at }, { every: 5000 });
  if (failure !== undefined && answer === undefined) return <Trouble failure={failure} again={again} />;
  if (answer === undefined) return <Loading what="the graph's checkpoints" />;
  const { namespaces, checkpoints, shown } = answer;
  return (
    <div class="panel columns graph">
      <section>
        {shown === undefined ? (
          <Empty title="No checkpoint here">
            <p>This namespace has no checkpoint of this id.</p>
          </Empty>
        ) : (
          <>
            <h2>
              Channels <span class="faint">at {shortId(shown.checkpointId)}</span>
            </h2>
            {shown.channels.length === 0 && <p class="faint">No channel has a value.</p>}
            {shown.channels.map(({ name, value }) => (
              <details key={name} class="field-change" open={shown.channels.length <= 6}>
                <summary>
                  <code>{name}</code>
                </summary>
                <pre class="plain" tabIndex={0}>
                  {value.text}
                  {value.length > value.text.length && `\n… ${numberText(value.length)} characters`}
                </pre>
              </details>
            ))}
            {shown.moreChannels > 0 && <p class="faint">{plural(shown.moreChannels, "more channel")}.</p>}
            <h2>Pending writes</h2>
            {shown.pending.length === 0 ? (
              <p class="faint">No task has written anything on top of this checkpoint.</p>
            ) : (
              <ul class="cards">
                {shown.pending.map((write, index) => (
                  <li class="card" key={index}>
                    <div class="card-head">
                      <code>{write.channel}</code>{" "}
                      {write.channel === "__interrupt__" && (
                        <Badge tone="ask" icon="question">
                          waits for a person
                        </Badge>
                      )}{" "}
                      <span class="faint">task {shortId(write.taskId)}</span>
                    </div>
                    <pre class="plain" tabIndex={0}>
                      {write.value.text}
                    </pre>
                  </li>
                ))}
              </ul>
            )}
            <h2>Metadata</h2>
            <pre class="plain" tabIndex={0}>
              {shown.metadata.text}
            </pre>
          </>
        )}
      </section>
      <section class="side">
        {namespaces.length > 1 && (
          <label>
            Graph
            <select value={namespace} onChange={(event) => adjust({ ns: event.currentTarget.value, at: undefined })}>
              {namespaces.map((name) => (
                <option key={name} value={name}>
                  {name === "" ? "root" : name}
                </option>
              ))}
            </select>
          </label>
        )}
        <h2>Checkpoints</h2>
        <ol class="plain-list">
          {checkpoints.map((each) => (
            <li key={each.checkpointId}>
              <a
                class="id"
                href={threadHref(thread, "graph", { at: each.checkpointId, ns: namespace })}
                aria-current={each.checkpointId === shown?.checkpointId ? "true" : undefined}
              >
                {shortId(each.checkpointId)}
              </a>
              <span class="faint">
                {" "}
                {each.source ?? ""}
                {each.step !== undefined && ` step ${each.step}`} · <When at={each.at} />
              </span>
            </li>
          ))}
        </ol>
        {answer.more && <p class="faint">Older ones are not shown.</p>}
      </section>
    </div>
  );
};
