import { useEffect, useState } from "preact/hooks";
import type { LedgerRow } from "../../api.ts";
import { mayWrite } from "../about.ts";
import { threadHref } from "../addresses.ts";
import { ask } from "../asking.ts";
import { openDialog, writes } from "../dialogs/open-dialog.ts";
import { CopyButton, Empty, Loading, TableFrame, Trouble, When } from "../parts/basics.tsx";
import { CallStatus, callFacts, nextRunText } from "../parts/tool-call.tsx";
import { useAnswer } from "../use-answer.ts";
import { plural, shortId } from "../wording.ts";

const isInDoubt = ({ status }: LedgerRow): boolean => status === "unknown" || status === "started";

/**
 * Every call of a tool, those in doubt first: they need a person to find out how they
 * ended.
 */
export const LedgerView = ({
  thread,
  at,
  news,
}: {
  readonly thread: string;
  readonly at: string | undefined;
  readonly news: string;
}) => {
  const first = useAnswer("ledger", thread, { at });
  const [more, setMore] = useState<readonly LedgerRow[]>([]);
  useEffect(first.again, [news, writes.value]);
  useEffect(() => setMore([]), [first.answer]);
  if (first.failure !== undefined && first.answer === undefined)
    return <Trouble failure={first.failure} again={first.again} />;
  if (first.answer === undefined) return <Loading what="the ledger" />;
  const { total, inDoubt } = first.answer;
  const rows = [...first.answer.rows, ...more];
  if (total === 0)
    return (
      <Empty title="No tool was called">
        <p>Every call of a tool is entered here before it begins, and again when it ended.</p>
      </Empty>
    );
  const canAct = mayWrite.value && at === undefined;
  const doubts = rows.filter(isInDoubt);
  return (
    <section class="panel">
      {doubts.length > 0 && (
        <div class="doubts" role="region" aria-label="Calls in doubt">
          <h2>{inDoubt === 1 ? "One call is in doubt" : `${plural(inDoubt, "call")} are in doubt`}</h2>
          <p>
            {inDoubt === 1
              ? "It was begun, and no outcome is recorded. Look its key up where the effect would be, then say how it ended."
              : "They were begun, and no outcome is recorded. Look each key up where the effect would be, then say how it ended."}
          </p>
          <ul>
            {doubts.map((row) => (
              <li key={row.toolCallId} class="card">
                <div class="card-head">
                  <code class="tool-name">{row.toolName}</code>
                  <CallStatus execution={row} />
                  <span class="faint">
                    begun <When at={row.startedAt} />
                  </span>
                  {row.message !== undefined && (
                    <a href={threadHref(thread, "messages", { at, m: row.message + 1 })}>message {row.message + 1}</a>
                  )}
                </div>
                {row.idempotencyKey !== undefined && (
                  <p>
                    Key <code class="wrap">{row.idempotencyKey}</code>{" "}
                    <CopyButton text={row.idempotencyKey} what="the idempotency key" />
                  </p>
                )}
                <p class="faint">{nextRunText(row)}</p>
                {canAct && (
                  <button
                    type="button"
                    class="primary small"
                    onClick={() => openDialog({ kind: "settle", thread, execution: row })}
                  >
                    Say how it ended
                  </button>
                )}
              </li>
            ))}
          </ul>
        </div>
      )}
      {rows.length > doubts.length && (
        <TableFrame label="Calls">
          <table>
            <thead>
              <tr>
                <th scope="col">Tool</th>
                <th scope="col">Status</th>
                <th scope="col">Begun</th>
                <th scope="col">Took</th>
                <th scope="col">Key</th>
                <th scope="col">In</th>
              </tr>
            </thead>
            <tbody>
              {rows
                .filter((row) => !isInDoubt(row))
                .map((row) => (
                  <tr key={row.toolCallId}>
                    <td>
                      <code class="tool-name">{row.toolName}</code>
                    </td>
                    <td class="badges">
                      <CallStatus execution={row} />
                      {row.error !== undefined && (
                        <span class="error-text clip" title={row.error.text}>
                          {row.error.text}
                        </span>
                      )}
                      {row.settledBy !== undefined && <span class="faint">by {row.settledBy.by}</span>}
                      {row.status === "waiting" &&
                        row.question !== undefined &&
                        row.question.answer === undefined &&
                        canAct && (
                          <button
                            type="button"
                            class="small"
                            onClick={() =>
                              row.question !== undefined &&
                              openDialog({ kind: "answer", thread, question: row.question })
                            }
                          >
                            Answer
                          </button>
                        )}
                    </td>
                    <td class="nowrap">
                      <When at={row.startedAt} />
                    </td>
                    <td class="nowrap">{callFacts(row)}</td>
                    <td class="nowrap">
                      {row.idempotencyKey === undefined ? (
                        ""
                      ) : (
                        <>
                          <code title={row.idempotencyKey}>{shortId(row.idempotencyKey)}</code>{" "}
                          <CopyButton text={row.idempotencyKey} what="the idempotency key" />
                        </>
                      )}
                    </td>
                    <td class="nowrap">
                      {row.message === undefined ? (
                        ""
                      ) : (
                        <a href={threadHref(thread, "messages", { at, m: row.message + 1 })}>
                          message {row.message + 1}
                        </a>
                      )}
                    </td>
                  </tr>
                ))}
            </tbody>
          </table>
        </TableFrame>
      )}
      {rows.length < total && (
        <button
          type="button"
          onClick={() =>
            void ask("ledger", { thread, query: { at, from: rows.length } }).then((next) =>
              setMore([...more, ...next.rows]),
            )
          }
        >
          Show more of {plural(total, "call")}
        </button>
      )}
    </section>
  );
};
