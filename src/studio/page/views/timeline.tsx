import { useEffect, useState } from "preact/hooks";
import type { CheckpointRow } from "../../api.ts";
import { mayWrite } from "../about.ts";
import { go, threadHref } from "../addresses.ts";
import { ask } from "../asking.ts";
import { openDialog } from "../dialogs/open-dialog.ts";
import { Badge, Loading, StandingBadges, Trouble, When } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { useAnswer } from "../use-answer.ts";
import { bytesText, durationText, numberText, plural, shortId } from "../wording.ts";

/**
 * Saves of one turn that follow each other within this time are folded into one row, which can be
 * opened.
 */
const SAME_TURN_MS = 2000;

interface Turn {
  readonly newest: CheckpointRow;
  readonly rows: readonly CheckpointRow[];
}

/** Several small saves of one turn are one line: the turn is what people look for. */
function turnsOf(rows: readonly CheckpointRow[]): readonly Turn[] {
  const turns: CheckpointRow[][] = [];
  for (const row of rows) {
    const last = turns.at(-1);
    const newer = last?.at(-1);
    const isSame = newer?.gap !== undefined && newer.gap < SAME_TURN_MS && row.standing?.unfinished === true;
    if (last !== undefined && isSame) last.push(row);
    else turns.push([row]);
  }
  return turns.map((each) => ({ newest: each[0] as CheckpointRow, rows: each }));
}

export const TimelineView = ({ thread, news }: { readonly thread: string; readonly news: string }) => {
  const first = useAnswer("checkpoints", thread, { count: 100 });
  const [more, setMore] = useState<readonly CheckpointRow[]>([]);
  const [cursor, setCursor] = useState<string>();
  const [chosen, choose] = useState<readonly string[]>([]);
  const [onlyProblems, setOnlyProblems] = useState(false);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  useEffect(first.again, [news]);
  useEffect(() => {
    setMore([]);
    setCursor(first.answer?.cursor);
  }, [first.answer]);
  if (first.failure !== undefined && first.answer === undefined)
    return <Trouble failure={first.failure} again={first.again} />;
  if (first.answer === undefined) return <Loading what="the checkpoints" />;
  const readOn = async (): Promise<void> => {
    const answer = await ask("checkpoints", { thread, query: { cursor, count: 200 } });
    setMore([...more, ...answer.rows]);
    setCursor(answer.cursor);
  };
  const all = [...first.answer.rows, ...more];
  const shown = onlyProblems
    ? all.filter(
        ({ standing }) =>
          standing?.inDoubt !== undefined || standing?.waiting !== undefined || standing?.stopped === true,
      )
    : all;
  const turns = onlyProblems ? shown.map((row) => ({ newest: row, rows: [row] })) : turnsOf(shown);
  const toggle = (id: string): void =>
    choose(chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen.slice(-1), id]);
  const compare = (): void => {
    const [a, b] = all.filter(({ checkpointId }) => chosen.includes(checkpointId)).sort((x, y) => x.seq - y.seq);
    if (a !== undefined && b !== undefined)
      go(["diff"], { a: thread, aAt: a.checkpointId, b: thread, bAt: b.checkpointId });
  };
  const line = (row: CheckpointRow, isInside = false) => (
    <li key={row.checkpointId} class={isInside ? "inside" : ""}>
      <input
        type="checkbox"
        checked={chosen.includes(row.checkpointId)}
        onChange={() => toggle(row.checkpointId)}
        aria-label={`Choose checkpoint ${row.checkpointId} to compare`}
      />
      <a class="id" href={threadHref(thread, "messages", { at: row.checkpointId })} title={row.checkpointId}>
        {shortId(row.checkpointId)}
      </a>
      <span class="what">
        {row.added === undefined || row.added === 0 ? (
          <span class="faint">no new messages</span>
        ) : row.added > 0 ? (
          `+${plural(row.added, "message")}`
        ) : (
          `${numberText(row.added)} messages`
        )}
        <StandingBadges standing={row.standing} />
        {row.kind === "base" && (
          <Badge tone="calm" title="The whole state; the others hold what changed">
            base
          </Badge>
        )}
      </span>
      <span class="faint number">{bytesText(row.bytes)}</span>
      <span class="faint number">{row.gap === undefined ? "" : `+${durationText(row.gap)}`}</span>
      <span class="nowrap">
        <When at={row.at} />
      </span>
      <span class="row-actions">
        <a class="button small quiet" href={threadHref(thread, "state", { at: row.checkpointId })}>
          State
        </a>
        {mayWrite.value && (
          <button
            type="button"
            class="small quiet"
            aria-label={`Fork from ${row.checkpointId}`}
            onClick={() => openDialog({ kind: "fork", thread, at: row.checkpointId })}
          >
            <Icon name="fork" />
          </button>
        )}
      </span>
    </li>
  );
  return (
    <section class="panel">
      <div class="tools">
        <button type="button" class="primary small" disabled={chosen.length !== 2} onClick={compare}>
          <Icon name="compare" /> Compare two
        </button>
        <label class="inline">
          <input
            type="checkbox"
            checked={onlyProblems}
            onChange={(event) => setOnlyProblems(event.currentTarget.checked)}
          />{" "}
          Only problems
        </label>
        <span class="faint grow">
          {plural(all.length, "checkpoint")}
          {cursor !== undefined && " so far"}, newest first
        </span>
      </div>
      <ol class="timeline">
        {turns.map(({ newest, rows }) => {
          const isOpen = opened.has(newest.checkpointId);
          return rows.length === 1 ? (
            line(newest)
          ) : (
            <>
              {line(newest)}
              <li class="fold" key={`${newest.checkpointId}-fold`}>
                <button
                  type="button"
                  class="small quiet"
                  aria-expanded={isOpen}
                  onClick={() =>
                    setOpened(
                      new Set(
                        isOpen
                          ? [...opened].filter((id) => id !== newest.checkpointId)
                          : [...opened, newest.checkpointId],
                      ),
                    )
                  }
                >
                  <Icon name="chevron" /> {plural(rows.length - 1, "earlier save")} of the same turn
                </button>
              </li>
              {isOpen && rows.slice(1).map((row) => line(row, true))}
            </>
          );
        })}
      </ol>
      {turns.length === 0 && <p class="faint">No checkpoint here has a problem.</p>}
      {cursor !== undefined && (
        <button type="button" onClick={() => void readOn()}>
          Show older ones
        </button>
      )}
      <p class="faint small-print">
        Changes of leases and deletions leave no checkpoint, so they are not in this list.
      </p>
    </section>
  );
};
