import { useEffect, useRef, useState } from "preact/hooks";
import type { PlacesAnswer } from "../../api.ts";
import { threadHref } from "../addresses.ts";
import { ask } from "../asking.ts";
import { useKeys } from "../keys.ts";
import { Icon } from "../parts/icons.tsx";
import { useAnswer } from "../use-answer.ts";
import { numberText, plural } from "../wording.ts";

/** The thread's newest checkpoint, and which one is shown. */
export interface LiveThread {
  readonly shownHead: string | undefined;
  readonly shownMessages: number;
  /** How many messages came since the shown head. */
  readonly news: number;
  readonly isFollowing: boolean;
  readonly showNews: () => void;
}

/** Above a conversation: find, the next problem, how long it is, what is new. */
export const MessageTools = ({
  thread,
  at,
  total,
  current,
  show,
  live,
  isPast,
  toEnd,
}: {
  readonly thread: string;
  readonly at: string;
  readonly total: number;
  readonly current: () => number;
  readonly show: (index: number) => void;
  readonly live: LiveThread;
  readonly isPast: boolean;
  readonly toEnd: () => void;
}) => {
  const problems = useAnswer("problems", thread, { at }).answer;
  const [words, setWords] = useState("");
  const [found, setFound] = useState<PlacesAnswer>();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setFound(undefined), [words, at]);
  const next = (places: readonly number[], by: 1 | -1): void => {
    const from = current();
    const target =
      by === 1
        ? (places.find((index) => index > from) ?? places[0])
        : (places.findLast((index) => index < from) ?? places.at(-1));
    if (target !== undefined) show(target);
  };
  const find = async (by: 1 | -1): Promise<void> => {
    if (words.trim() === "") return;
    const places = found ?? (await ask("find", { thread, query: { at, words } }));
    setFound(places);
    next(places.places, by);
  };
  useKeys({
    n: () => next(problems?.places ?? [], 1),
    p: () => next(problems?.places ?? [], -1),
    f: () => field.current?.focus(),
    "/": () => field.current?.focus(),
  });
  const count = problems?.places.length ?? 0;
  return (
    <div class="tools">
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          void find(1);
        }}
      >
        <input
          ref={field}
          type="search"
          value={words}
          placeholder="Find in this thread"
          aria-label="Find in this thread"
          onInput={(event) => setWords(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
        {found !== undefined && (
          <span class="faint" role="status">
            {found.places.length === 0
              ? "not found"
              : `${plural(found.places.length, "message")}${found.more ? " and more" : ""}`}
          </span>
        )}
      </form>
      {count > 0 && (
        <button type="button" class="small" onClick={() => next(problems?.places ?? [], 1)} title="Next problem (n)">
          <Icon name="warning" /> {plural(count, "problem")}
          {problems?.more === true && "+"}
        </button>
      )}
      <span class="faint grow">{plural(total, "message")}</span>
      <button type="button" class="small quiet" onClick={() => show(0)} title="To the beginning (g g)">
        First
      </button>
      <button type="button" class="small quiet" onClick={toEnd} title="To the end (G)">
        Last
      </button>
      {isPast ? (
        <a class="button small" href={threadHref(thread)}>
          Show the newest
        </a>
      ) : live.news > 0 ? (
        <button type="button" class="small primary" onClick={live.showNews}>
          {numberText(live.news)} new
        </button>
      ) : (
        live.isFollowing && (
          <span class="live" title="New checkpoints appear as they are saved">
            <Icon name="live" /> live
          </span>
        )
      )}
    </div>
  );
};
