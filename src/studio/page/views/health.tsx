import { Badge, Loading, TableFrame, Trouble } from "../parts/basics.tsx";
import { useAnswer } from "../use-answer.ts";
import { bytesText, durationText, numberText } from "../wording.ts";
import { Proofs } from "./proofs.tsx";

export const HealthView = () => {
  const { answer, failure, again } = useAnswer("health", undefined, {});
  return (
    <main class="view" id="main">
      <div class="head">
        <h1>Health</h1>
        <p class="faint">What this store can, how it answers, and whether what it holds is what was written.</p>
      </div>
      {failure !== undefined && answer === undefined && <Trouble failure={failure} again={again} />}
      {answer === undefined && failure === undefined && <Loading what="what the store can" />}
      {answer !== undefined && (
        <div class="columns">
          <section>
            <Proofs />
            <h2>What it can</h2>
            <TableFrame label="Capabilities">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Capability</th>
                    <th scope="col">Here</th>
                    <th scope="col">Means</th>
                  </tr>
                </thead>
                <tbody>
                  {answer.flags.map(({ name, value, means }) => (
                    <tr key={name}>
                      <td>
                        <code>{name}</code>
                      </td>
                      <td>
                        {value ? (
                          <Badge tone="good" icon="check">
                            yes
                          </Badge>
                        ) : (
                          <Badge tone="calm">no</Badge>
                        )}
                      </td>
                      <td class="faint">{means}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </TableFrame>
          </section>
          <section class="side">
            <h2>Store</h2>
            <dl class="facts-list">
              <dt>Address</dt>
              <dd>
                <code class="wrap">{answer.store}</code>
              </dd>
              <dt>Kind</dt>
              <dd>{answer.backend}</dd>
              <dt>Durability</dt>
              <dd>
                {answer.durability}: {answer.durabilityMeans}
              </dd>
              <dt>Search</dt>
              <dd>{answer.searchMethod}</dd>
              <dt>Largest record</dt>
              <dd>{answer.maxRecordBytes === null ? "no limit" : bytesText(answer.maxRecordBytes)}</dd>
              <dt>Clock</dt>
              <dd>
                {answer.clockAheadMs === undefined
                  ? "this machine's"
                  : `${durationText(Math.abs(answer.clockAheadMs))} ${answer.clockAheadMs >= 0 ? "ahead of" : "behind"} this machine's`}
              </dd>
              <dt>Threads</dt>
              <dd>
                {numberText(answer.threads.read)}
                {!answer.threads.complete && " read so far"}
                {answer.threads.damaged > 0 && `, ${answer.threads.damaged} damaged`}
              </dd>
            </dl>
            <h2>How fast it answers</h2>
            <dl class="facts-list">
              {answer.latency.map(({ what, ms }) => (
                <>
                  <dt key={what}>{what}</dt>
                  <dd>{ms.toFixed(1)} ms</dd>
                </>
              ))}
            </dl>
            <button type="button" class="small" onClick={again}>
              Measure again
            </button>
            <h2>Studio</h2>
            <dl class="facts-list">
              <dt>Memory</dt>
              <dd>{bytesText(answer.process.heapBytes)}</dd>
              <dt>Node</dt>
              <dd>{answer.process.node}</dd>
            </dl>
          </section>
        </div>
      )}
    </main>
  );
};
