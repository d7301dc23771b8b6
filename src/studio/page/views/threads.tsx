import { useEffect, useRef, useState } from "preact/hooks";
import type { ThreadRow, ThreadsAnswer } from "../../api.ts";
import { about } from "../about.ts";
import { adjust, go, place, threadHref } from "../addresses.ts";
import { ask } from "../asking.ts";
import { writes } from "../dialogs/open-dialog.ts";
import { useKeys } from "../keys.ts";
import { Empty, Loading, RowBadges, TableFrame, Trouble, When } from "../parts/basics.tsx";
import { useAnswer } from "../use-answer.ts";
import { bytesText, numberText, plural } from "../wording.ts";

const FILTERS: readonly (readonly [
  standing: string,
  label: string,
  count: keyof ThreadsAnswer["counts"] | undefined,
])[] = [
  ["", "All", undefined],
  ["inDoubt", "In doubt", "inDoubt"],
  ["waiting", "Waiting", "waiting"],
  ["unfinished", "Unfinished", "unfinished"],
  ["damaged", "Damaged", "damaged"],
];

const SORTS: readonly (readonly [value: string, label: string])[] = [
  ["recent", "last saved"],
  ["id", "name"],
  ["messages", "messages"],
  ["size", "size"],
];

const PAGE = 100;

export const ThreadsView = () => {
  const { text, standing, sort, meta, n } = place.value.query;
  const query = { text, standing, sort, meta };
  const page = Math.max(0, Number(n ?? 0) || 0);
  const { answer, failure, again } = useAnswer("threads", undefined, { ...query, from: page * PAGE }, { every: 5000 });
  const field = useRef<HTMLInputElement>(null);
  const [selected, select] = useState(-1);
  useEffect(again, [writes.value]);
  useEffect(() => select(-1), [text, standing, sort, meta, page]);
  const rows = answer?.rows ?? [];
  const choose = (index: number): void => {
    const wanted = Math.max(0, Math.min(rows.length - 1, index));
    select(wanted);
    document.querySelectorAll<HTMLElement>(".threads tbody a.thread")[wanted]?.focus();
  };
  useKeys({
    "/": () => field.current?.focus(),
    j: () => choose(selected + 1),
    k: () => choose(selected - 1),
  });
  const isFiltered = text !== undefined || standing !== undefined || meta !== undefined;
  return (
    <main class="view" id="main">
      <div class="head">
        <h1>Threads</h1>
        {answer !== undefined && <Progress answer={answer} isFiltered={isFiltered} again={again} />}
      </div>
      <div class="filters">
        <input
          ref={field}
          type="search"
          placeholder="Filter by name"
          aria-label="Filter threads by name"
          value={text ?? ""}
          onInput={(event) => adjust({ text: event.currentTarget.value, n: undefined })}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
        <div class="segments" role="group" aria-label="Standing">
          {FILTERS.map(([value, label, count]) => {
            const number = count === undefined ? undefined : answer?.counts[count];
            return (
              <button
                key={value}
                type="button"
                aria-pressed={(standing ?? "") === value}
                onClick={() => adjust({ standing: value, n: undefined })}
              >
                {label}
                {number !== undefined && number > 0 && <span class={`count ${value}`}>{numberText(number)}</span>}
              </button>
            );
          })}
        </div>
        <label class="inline">
          Sorted by
          <select
            value={sort ?? "recent"}
            onChange={(event) => adjust({ sort: event.currentTarget.value, n: undefined })}
          >
            {SORTS.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {meta !== undefined && (
          <button
            type="button"
            class="chip"
            onClick={() => adjust({ meta: undefined })}
            aria-label={`Remove the filter ${meta}`}
          >
            {meta} <span aria-hidden="true">×</span>
          </button>
        )}
      </div>
      {failure !== undefined && answer === undefined && <Trouble failure={failure} again={again} />}
      {answer === undefined && failure === undefined && <Loading what="the threads" />}
      {answer !== undefined &&
        rows.length === 0 &&
        (isFiltered ? (
          <Empty title="No thread fits these filters">
            <button type="button" onClick={() => adjust({ text: undefined, standing: undefined, meta: undefined })}>
              Show all
            </button>
          </Empty>
        ) : (
          <EmptyStore />
        ))}
      {rows.length > 0 && <ThreadTable rows={rows} />}
      {answer !== undefined && answer.total > PAGE && <Pager page={page} total={answer.total} />}
    </main>
  );
};

const Progress = ({
  answer,
  isFiltered,
  again,
}: {
  readonly answer: ThreadsAnswer;
  readonly isFiltered: boolean;
  readonly again: () => void;
}) => {
  const { walk, total } = answer;
  const readOn = (): void => void ask("threads", { query: { readOn: 1, count: 1 } }).then(again);
  return (
    <p class="faint" role="status">
      {isFiltered ? `${numberText(total)} of ${plural(walk.read, "thread")}` : plural(walk.read, "thread")}
      {!walk.complete && !walk.paused && " read so far …"}
      {walk.paused && (
        <>
          {" "}
          read; there are more.{" "}
          <button type="button" class="small" onClick={readOn}>
            Read on
          </button>
        </>
      )}
      {walk.failed !== undefined && ` · the walk stopped: ${walk.failed}`}
      {walk.unnamed !== undefined &&
        ` · ${plural(walk.unnamed, "thread")} can neither be read nor named: ${walk.unnamedFirst}`}
    </p>
  );
};

const ThreadTable = ({ rows }: { readonly rows: readonly ThreadRow[] }) => (
  <TableFrame label="Threads">
    <table class="threads">
      <thead>
        <tr>
          <th scope="col">Thread</th>
          <th scope="col">Standing</th>
          <th scope="col">Last save</th>
          <th scope="col" class="number">
            Messages
          </th>
          <th scope="col" class="number">
            Load size
          </th>
          <th scope="col">Metadata</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr
            key={row.threadId}
            class={
              row.standing?.inDoubt !== undefined || row.trouble !== undefined
                ? "alarm"
                : row.standing?.waiting !== undefined
                  ? "ask"
                  : ""
            }
          >
            <td>
              <a class="thread" href={threadHref(row.threadId, row.kind === "graph" ? "graph" : "messages")}>
                {row.threadId}
              </a>
            </td>
            <td class="badges">
              <RowBadges row={row} />
            </td>
            <td class="nowrap">
              <When at={row.lastAt} />
            </td>
            <td class="number">{row.messages === undefined ? "" : numberText(row.messages)}</td>
            <td class="number nowrap">{row.loadBytes === undefined ? "" : bytesText(row.loadBytes)}</td>
            <td class="chips">
              {row.metadata.map(([key, value]) => (
                <button
                  key={key}
                  type="button"
                  class="chip"
                  title={`Only threads with ${key} = ${value}`}
                  onClick={() => adjust({ meta: `${key}=${value}`, n: undefined })}
                >
                  {key}: {value.replace(/^"(.*)"$/, "$1")}
                </button>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </TableFrame>
);

const Pager = ({ page, total }: { readonly page: number; readonly total: number }) => {
  const last = Math.ceil(total / PAGE) - 1;
  const to = (wanted: number): void => {
    go(["threads"], { ...place.value.query, n: wanted === 0 ? undefined : wanted });
    scrollTo({ top: 0 });
  };
  return (
    <nav class="pager" aria-label="Pages of threads">
      <button type="button" disabled={page === 0} onClick={() => to(page - 1)}>
        Before
      </button>
      <span>
        {numberText(page * PAGE + 1)}–{numberText(Math.min(total, (page + 1) * PAGE))} of {numberText(total)}
      </span>
      <button type="button" disabled={page >= last} onClick={() => to(page + 1)}>
        Next
      </button>
    </nav>
  );
};

const EmptyStore = () => (
  <Empty title="No threads here yet">
    <p>An agent that is given this store fills it:</p>
    <pre tabIndex={0}>
      <code>{`import { Agent, openCheckpointer } from "holdfast";
const checkpointer = await openCheckpointer("${about.value?.store ?? ""}");
await new Agent({ model, checkpointer }).run("Hello", { threadId: "first" });`}</code>
    </pre>
    <p class="faint">This page looks again every few seconds.</p>
  </Empty>
);
