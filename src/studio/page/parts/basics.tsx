import type { ComponentChildren } from "preact";
import type { ShownStanding, ThreadRow } from "../../api.ts";
import { copy } from "../about.ts";
import { Failure } from "../asking.ts";
import { agoText, exactTime, plural } from "../wording.ts";
import { Icon, type IconName } from "./icons.tsx";

/** Relative at a glance, exact on hover. */
export const When = ({ at }: { readonly at: number | undefined }) =>
  at === undefined ? (
    <span class="faint">not known</span>
  ) : (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>
      {agoText(at)}
    </time>
  );

export type Tone = "calm" | "ask" | "alarm" | "good" | "note";

export const Badge = ({
  tone,
  icon,
  children,
  title,
}: {
  readonly tone: Tone;
  readonly icon?: IconName;
  readonly children: ComponentChildren;
  readonly title?: string;
}) => (
  <span class={`badge ${tone}`} title={title}>
    {icon !== undefined && <Icon name={icon} />}
    {children}
  </span>
);

/**
 * What a thread waits for. A store alone cannot tell a crashed run from a running one, so the badges pass no
 * verdict.
 */
export const StandingBadges = ({ standing }: { readonly standing: ShownStanding | undefined }) => {
  const { waiting, inDoubt, pending, stopped, unfinished } = standing ?? {};
  return (
    <>
      {inDoubt !== undefined && (
        <Badge tone="alarm" icon="warning" title="A call was begun, and it is unknown whether it took effect">
          {inDoubt === 1 ? "call in doubt" : `${plural(inDoubt, "call")} in doubt`}
        </Badge>
      )}
      {waiting !== undefined && (
        <Badge tone="ask" icon="question" title="A person has to answer before it continues">
          {waiting === 1 ? "waiting for an answer" : `waiting for ${plural(waiting, "answer")}`}
        </Badge>
      )}
      {pending !== undefined && (
        <Badge tone="note" title="It is being worked on elsewhere, and the result will arrive from there">
          {pending === 1 ? "call under way elsewhere" : `${plural(pending, "call")} under way elsewhere`}
        </Badge>
      )}
      {stopped === true ? (
        <Badge tone="note" title="It was ended on purpose: by a limit or by its caller">
          stopped
        </Badge>
      ) : (
        unfinished === true &&
        waiting === undefined &&
        pending === undefined && (
          <Badge tone="note" title="The last turn did not come to its end, or is under way">
            unfinished turn
          </Badge>
        )
      )}
    </>
  );
};

export const RowBadges = ({ row }: { readonly row: ThreadRow }) => (
  <>
    {row.trouble !== undefined && (
      <Badge tone="alarm" icon="warning" title={row.trouble.message}>
        {row.trouble.code === "INCOMPATIBLE" ? "newer format" : "damaged"}
      </Badge>
    )}
    <StandingBadges standing={row.standing} />
    {row.kind === "graph" && <Badge tone="calm">graph</Badge>}
    {row.heldBy !== undefined && row.heldUntil !== undefined && row.heldUntil > Date.now() && (
      <Badge tone="calm" icon="lock" title={`held by ${row.heldBy} until ${exactTime(row.heldUntil)}`}>
        held
      </Badge>
    )}
    {row.forkedFrom !== undefined && (
      <Badge tone="calm" icon="fork" title={`forked from ${row.forkedFrom.threadId}`}>
        fork
      </Badge>
    )}
    {row.trouble === undefined && row.standing === undefined && <span class="faint">idle</span>}
  </>
);

export const CopyButton = ({
  text,
  what,
  label,
}: {
  readonly text: string;
  readonly what: string;
  readonly label?: string;
}) => (
  <button
    type="button"
    class="quiet small"
    onClick={() => void copy(text, what)}
    aria-label={`Copy ${what}`}
    title={`Copy ${what}`}
  >
    <Icon name="copy" />
    {label}
  </button>
);

export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
);

export const Loading = ({ what }: { readonly what: string }) => (
  <p class="loading" role="status">
    <span class="spinner" aria-hidden="true" />
    Reading {what} …
  </p>
);

const ADVICE: Readonly<Record<string, string>> = {
  NOT_FOUND: "It may have been deleted meanwhile.",
  CONFLICT: "Another writer was faster. Look at the thread as it is now, then decide again.",
  CORRUPT: "Health can prove every record and say what is lost. The other checkpoints of the thread may still load.",
  INCOMPATIBLE: "It was written by a newer version. Upgrade holdfast to read it.",
  PERMISSION_DENIED: "",
};

export const Trouble = ({ failure, again }: { readonly failure: Error; readonly again?: () => void }) => (
  <div class="trouble" role="alert">
    <Icon name="warning" />
    <div>
      <p>{failure.message}</p>
      {failure instanceof Failure && ADVICE[failure.code] !== undefined && <p class="faint">{ADVICE[failure.code]}</p>}
      {again !== undefined && (
        <button type="button" class="small" onClick={again}>
          Try again
        </button>
      )}
    </div>
  </div>
);

/** A table that may be wider than its place: it can be scrolled by keys too. */
export const TableFrame = ({
  label,
  kind = "",
  children,
}: {
  readonly label: string;
  readonly kind?: "narrow" | "short" | "";
  readonly children: ComponentChildren;
}) => (
  <div class={`table-frame ${kind}`} tabIndex={0} role="region" aria-label={label}>
    {children}
  </div>
);
