import { useRef, useState } from "preact/hooks";
import type { SearchHit } from "../../api.ts";
import { about } from "../about.ts";
import { go, place, threadHref } from "../addresses.ts";
import { ask } from "../asking.ts";
import { useKeys } from "../keys.ts";
import { Empty, Loading, Trouble, When } from "../parts/basics.tsx";
import { useAnswer } from "../use-answer.ts";
import { plural, shortId } from "../wording.ts";

const METHOD: Readonly<Record<string, string>> = {
  index: "This store has an index of words: answers come at once.",
  scan: "This store has no index of words: every thread is read, which may take a while.",
  none: "This store cannot be searched.",
};

export const SearchView = () => {
  const { words, prefix } = place.value.query;
  const { answer, failure, isAsking, again } = useAnswer(
    "search",
    undefined,
    { words, prefix },
    { when: words !== undefined },
  );
  const [more, setMore] = useState<{
    readonly of: string;
    readonly hits: readonly SearchHit[];
    readonly cursor?: string;
  }>();
  const field = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => field.current?.focus() });
  const submit = (event: Event): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    go(["search"], { words: String(data.get("words") ?? ""), prefix: String(data.get("prefix") ?? "") });
  };
  const key = JSON.stringify([words, prefix]);
  const extra = more?.of === key ? more : undefined;
  const hits = [...(answer?.hits ?? []), ...(extra?.hits ?? [])];
  const cursor = extra === undefined ? answer?.cursor : extra.cursor;
  const readOn = async (): Promise<void> => {
    const next = await ask("search", { query: { words, prefix, cursor } });
    setMore({
      of: key,
      hits: [...(extra?.hits ?? []), ...next.hits],
      ...(next.cursor !== undefined && { cursor: next.cursor }),
    });
  };
  return (
    <main class="view" id="main">
      <div class="head">
        <h1>Search</h1>
        <p class="faint">{METHOD[about.value?.searchMethod ?? "none"]}</p>
      </div>
      <form class="filters" role="search" onSubmit={submit} key={key}>
        <input
          ref={field}
          name="words"
          type="search"
          placeholder="Words in messages"
          aria-label="Words to find in all threads"
          defaultValue={words ?? ""}
          autofocus
        />
        <input
          name="prefix"
          placeholder="Only threads that begin with"
          aria-label="Only threads that begin with"
          defaultValue={prefix ?? ""}
        />
        <button type="submit" class="primary">
          Search
        </button>
        {isAsking && words !== undefined && (
          <button type="button" onClick={() => go(["search"])}>
            Cancel
          </button>
        )}
      </form>
      {failure !== undefined && answer === undefined && <Trouble failure={failure} again={again} />}
      {words !== undefined && answer === undefined && failure === undefined && <Loading what="what was found" />}
      {answer !== undefined && hits.length === 0 && (
        <Empty title="Not found">
          <p>A word is found whole, or by its beginning; all words of a search have to be in what one save brought.</p>
        </Empty>
      )}
      {hits.length > 0 && (
        <>
          <p class="faint" role="status">
            {plural(hits.length, "place")}
            {cursor !== undefined && ", and more"},{" "}
            {answer?.order === "newest" ? "newest first: there are too many to rank" : "best first"}
          </p>
          <ul class="cards">
            {hits.map((hit) => (
              <Hit key={`${hit.threadId}\n${hit.checkpointId}`} hit={hit} words={words ?? ""} />
            ))}
          </ul>
        </>
      )}
      {cursor !== undefined && (
        <button type="button" onClick={() => void readOn()}>
          Show more
        </button>
      )}
    </main>
  );
};

const Hit = ({ hit, words }: { readonly hit: SearchHit; readonly words: string }) => (
  <li class="card">
    <div class="card-head">
      <a href={threadHref(hit.threadId, "messages", { at: hit.checkpointId, m: hit.messages })}>{hit.threadId}</a>
      <span class="faint">
        checkpoint <code title={hit.checkpointId}>{shortId(hit.checkpointId)}</code>
      </span>
      <span class="faint place">
        <When at={hit.at} />
      </span>
    </div>
    <Snippet hit={hit} words={words} />
  </li>
);

/** The message that has the words, where the checkpoint brought one. */
const Snippet = ({ hit, words }: { readonly hit: SearchHit; readonly words: string }) => {
  const [first = ""] = words.trim().split(/\s+/);
  const found = useAnswer("find", hit.threadId, { at: hit.checkpointId, words: first });
  const index = found.answer?.places.at(-1);
  const messages = useAnswer(
    "messages",
    hit.threadId,
    { at: hit.checkpointId, from: index, count: 1 },
    { when: index !== undefined },
  );
  const [message] = messages.answer?.messages ?? [];
  const text = message?.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ") ?? "";
  const at = Math.max(0, text.toLowerCase().indexOf(first.toLowerCase()) - 80);
  if (text === "") return null;
  return (
    <p class="faint">
      {at > 0 && "…"}
      {text.slice(at, at + 260)}
      {at + 260 < text.length && "…"}
    </p>
  );
};
