import type { DiffAnswer, DiffSide, FieldChange, ShownMessage } from "../../api.ts";
import { adjust, href, place, threadHref } from "../addresses.ts";
import { Empty, Loading, TableFrame, Trouble, When } from "../parts/basics.tsx";
import { MessageCard } from "../parts/message-card.tsx";
import { TextDiff } from "../parts/text-diff.tsx";
import { useAnswer } from "../use-answer.ts";
import { textDiff } from "../word-diff.ts";
import { bytesText, numberText, plural, shortId } from "../wording.ts";
import { cardPlace, SideBySide, useTail } from "./side-by-side.tsx";

export const DiffView = ({ isComparison }: { readonly isComparison: boolean }) => {
  const { a, aAt, b, bAt } = place.value.query;
  const { answer, failure, again } = useAnswer(
    "diff",
    undefined,
    { a, aAt, b, bAt },
    { when: a !== undefined && b !== undefined },
  );
  const title = isComparison ? "Compare" : "Differences";
  return (
    <main class="view" id="main">
      <div class="head">
        <h1>{title}</h1>
        <p class="faint">
          {isComparison
            ? "Two threads side by side, from where they part."
            : "What changed from one checkpoint to another, of one thread or of two."}
        </p>
      </div>
      <Sides />
      {a === undefined || b === undefined ? (
        <Empty title="Choose two">
          <p>Name two threads above, or choose two checkpoints in a thread's timeline.</p>
        </Empty>
      ) : failure !== undefined && answer === undefined ? (
        <Trouble failure={failure} again={again} />
      ) : answer === undefined ? (
        <Loading what="both states" />
      ) : (
        <>
          <nav class="tabs" aria-label="How it is shown">
            <a href={href(["diff"], place.value.query)} aria-current={isComparison ? undefined : "page"}>
              Changes
            </a>
            <a href={href(["compare"], place.value.query)} aria-current={isComparison ? "page" : undefined}>
              Side by side
            </a>
          </nav>
          <Totals answer={answer} />
          {isComparison ? <SideBySide answer={answer} /> : <Changes answer={answer} />}
          <Fields fields={answer.fields} more={answer.moreFields} />
        </>
      )}
    </main>
  );
};

const Sides = () => {
  const { a = "", aAt = "", b = "", bAt = "" } = place.value.query;
  const apply = (event: Event): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string): string => String(data.get(name) ?? "").trim();
    adjust({ a: text("a"), aAt: text("aAt"), b: text("b"), bAt: text("bAt") });
  };
  return (
    <form class="sides" onSubmit={apply} key={`${a}${aAt}${b}${bAt}`}>
      <fieldset>
        <legend>Before</legend>
        <label>
          Thread <input name="a" defaultValue={a} required />
        </label>
        <label>
          Checkpoint <input name="aAt" defaultValue={aAt} placeholder="newest" />
        </label>
      </fieldset>
      <fieldset>
        <legend>After</legend>
        <label>
          Thread <input name="b" defaultValue={b} required />
        </label>
        <label>
          Checkpoint <input name="bAt" defaultValue={bAt} placeholder="newest" />
        </label>
      </fieldset>
      <div class="side-actions">
        <button type="submit">Show</button>
        <button type="button" class="quiet" onClick={() => adjust({ a: b, aAt: bAt, b: a, bAt: aAt })}>
          Swap
        </button>
      </div>
    </form>
  );
};

const Totals = ({ answer: { a, b, shared } }: { readonly answer: DiffAnswer }) => {
  const rows: readonly (readonly [name: string, a: string, b: string])[] = [
    ["Messages", numberText(a.messages), numberText(b.messages)],
    ["Tool calls", numberText(a.calls), numberText(b.calls)],
    ["Input tokens", numberText(a.totals["inputTokens"] ?? 0), numberText(b.totals["inputTokens"] ?? 0)],
    ["Output tokens", numberText(a.totals["outputTokens"] ?? 0), numberText(b.totals["outputTokens"] ?? 0)],
    ["Load size", bytesText(a.loadBytes), bytesText(b.loadBytes)],
  ];
  const head = (side: DiffSide) => (
    <th scope="col">
      <a href={threadHref(side.threadId, "messages", { at: side.checkpointId })}>{side.threadId}</a>
      <span class="faint">
        {" "}
        {shortId(side.checkpointId)} · <When at={side.at} />
      </span>
    </th>
  );
  return (
    <>
      <TableFrame label="Totals of both" kind="narrow">
        <table>
          <thead>
            <tr>
              <th scope="col">
                <span class="sr-only">What</span>
              </th>
              {head(a)}
              {head(b)}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, left, right]) => (
              <tr key={name} class={left === right ? "" : "changed"}>
                <th scope="row">{name}</th>
                <td>{left}</td>
                <td>{right}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
      <p class="shared">
        {shared === 0
          ? "They have no messages in common."
          : `The first ${plural(shared, "message")} are the same in both.`}
      </p>
    </>
  );
};

/** Messages at the same place behind the common start are one that was changed. */
const Changes = ({ answer: { a, b, shared } }: { readonly answer: DiffAnswer }) => {
  const before = useTail(a, shared);
  const after = useTail(b, shared);
  const [removed, added] = [a.messages - shared, b.messages - shared];
  if (removed + added === 0) return null;
  const count = Math.max(before.messages.length, after.messages.length);
  return (
    <section aria-label="Messages">
      <h2>
        Messages{" "}
        <span class="faint">
          {plural(removed, "message")} only before, {numberText(added)} only after
        </span>
      </h2>
      {Array.from({ length: count }, (_, index) => (
        <Pair key={index} before={before.messages[index]} after={after.messages[index]} a={a} b={b} />
      ))}
      {(before.isMore || after.isMore) && (
        <button
          type="button"
          onClick={() => {
            if (before.isMore) before.readOn();
            if (after.isMore) after.readOn();
          }}
        >
          Show more
        </button>
      )}
    </section>
  );
};

const textOf = (message: ShownMessage): string =>
  message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");

const Pair = ({
  before,
  after,
  a,
  b,
}: {
  readonly before: ShownMessage | undefined;
  readonly after: ShownMessage | undefined;
  readonly a: DiffSide;
  readonly b: DiffSide;
}) => {
  const isPair =
    before !== undefined &&
    after !== undefined &&
    before.role === after.role &&
    before.calls.length + after.calls.length === 0;
  if (isPair && isAlike(textOf(before), textOf(after))) {
    return (
      <article class="message changed">
        <header>
          <span class="role">Message {numberText(after.index + 1)}, changed</span>
        </header>
        <TextDiff before={textOf(before)} after={textOf(after)} />
      </article>
    );
  }
  return (
    <>
      {before !== undefined && (
        <div class="removed" role="group" aria-label="Only before">
          <MessageCard message={before} place={cardPlace(a)} />
        </div>
      )}
      {after !== undefined && (
        <div class="added" role="group" aria-label="Only after">
          <MessageCard message={after} place={cardPlace(b)} />
        </div>
      )}
    </>
  );
};

/** Where little is left of a text, its words in between those of another are no help. */
function isAlike(before: string, after: string): boolean {
  const kept = (textDiff(before, after) ?? []).reduce(
    (sum, { text, side }) => sum + (side === "both" ? text.trim().length : 0),
    0,
  );
  return kept * 2.5 >= Math.max(before.length, after.length);
}

const Fields = ({ fields, more }: { readonly fields: readonly FieldChange[]; readonly more: number }) => (
  <section aria-label="Other fields">
    <h2>Other fields</h2>
    {fields.length === 0 && <p class="faint">Nothing else differs.</p>}
    {fields.map(({ name, before, after }) => (
      <details key={name} class="field-change" open={fields.length <= 8}>
        <summary>
          <code>{name}</code>{" "}
          {before === undefined ? (
            <span class="faint">new</span>
          ) : after === undefined ? (
            <span class="faint">gone</span>
          ) : null}
        </summary>
        <TextDiff before={before?.text ?? ""} after={after?.text ?? ""} />
        {((before?.length ?? 0) > (before?.text.length ?? 0) || (after?.length ?? 0) > (after?.text.length ?? 0)) && (
          <p class="faint">Only the beginning is compared here.</p>
        )}
      </details>
    ))}
    {more > 0 && <p class="faint">{plural(more, "more field")} differ.</p>}
  </section>
);
