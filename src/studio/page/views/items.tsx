import { useState } from "preact/hooks";
import type { ItemRow } from "../../items-api.ts";
import { about } from "../about.ts";
import { adjust, href, place, threadHref } from "../addresses.ts";
import { ask } from "../asking.ts";
import { CopyButton, Empty, Loading, Trouble, When } from "../parts/basics.tsx";
import { ValueTree } from "../parts/value-tree.tsx";
import { useAnswer } from "../use-answer.ts";
import { exactTime, numberText, plural } from "../wording.ts";

const namespaceText = (namespace: readonly string[]): string =>
  namespace.length === 0 ? "everything" : namespace.join(" / ");

/** What is kept across threads: items, and the memories among them. */
export const ItemsView = () => {
  const { ns, words, key } = place.value.query;
  const namespaces = useAnswer("namespaces", undefined, {}, { when: about.value?.hasItems === true });
  const items = useAnswer("items", undefined, { namespace: ns, words }, { when: about.value?.hasItems === true });
  const [more, setMore] = useState<{
    readonly of: string;
    readonly rows: readonly ItemRow[];
    readonly cursor?: string;
  }>();
  if (about.value?.hasItems === false) {
    return (
      <main class="view" id="main">
        <h1>Items</h1>
        <Empty title="This storage keeps threads alone">
          <p>Items and memories can be kept in SQLite, PostgreSQL, Oracle or Redis.</p>
        </Empty>
      </main>
    );
  }
  const of = JSON.stringify([ns, words]);
  const extra = more?.of === of ? more : undefined;
  const rows = [...(items.answer?.items ?? []), ...(extra?.rows ?? [])];
  const cursor = extra === undefined ? items.answer?.cursor : extra.cursor;
  const readOn = async (): Promise<void> => {
    const next = await ask("items", { query: { namespace: ns, words, cursor } });
    setMore({
      of,
      rows: [...(extra?.rows ?? []), ...next.items],
      ...(next.cursor !== undefined && { cursor: next.cursor }),
    });
  };
  const isEmpty = items.answer !== undefined && rows.length === 0 && words === undefined && ns === undefined;
  return (
    <main class="view" id="main">
      <div class="head">
        <h1>Items</h1>
        <p class="faint">What is kept across threads: items, and the memories among them.</p>
      </div>
      {items.failure !== undefined && items.answer === undefined && (
        <Trouble failure={items.failure} again={items.again} />
      )}
      {items.answer === undefined && items.failure === undefined && <Loading what="the items" />}
      {isEmpty ? (
        <Empty title="No items here yet">
          <p>
            A store with the same URL fills it: <code>openStore(url)</code>, or an agent with a memory.
          </p>
        </Empty>
      ) : (
        items.answer !== undefined && (
          <>
            <form
              class="filters"
              role="search"
              onSubmit={(event) => {
                event.preventDefault();
                adjust({ words: String(new FormData(event.currentTarget).get("words") ?? ""), key: undefined });
              }}
            >
              <label class="inline">
                In
                <select
                  value={ns ?? "[]"}
                  onChange={(event) =>
                    adjust({
                      ns: event.currentTarget.value === "[]" ? undefined : event.currentTarget.value,
                      key: undefined,
                    })
                  }
                >
                  <option value="[]">everything</option>
                  {(namespaces.answer?.namespaces ?? []).map((namespace) => (
                    <option key={namespaceText(namespace)} value={JSON.stringify(namespace)}>
                      {namespaceText(namespace)}
                    </option>
                  ))}
                </select>
              </label>
              <input
                name="words"
                type="search"
                placeholder="Words in items"
                aria-label="Words in items"
                defaultValue={words ?? ""}
              />
              <button type="submit">Find</button>
            </form>
            <div class="columns items">
              <section aria-label="Items">
                {rows.length === 0 && <p class="faint">No item fits.</p>}
                <ul class="plain-list item-list">
                  {rows.map((row) => (
                    <li key={JSON.stringify([row.namespace, row.key])}>
                      <a
                        href={href(["items"], { ns, words, key: JSON.stringify([row.namespace, row.key]) })}
                        aria-current={key === JSON.stringify([row.namespace, row.key]) ? "true" : undefined}
                      >
                        <span class="faint">{namespaceText(row.namespace)}</span>
                        <strong>{row.key}</strong>
                        <span class="clip-two">{row.preview}</span>
                      </a>
                    </li>
                  ))}
                </ul>
                {cursor !== undefined && (
                  <button type="button" onClick={() => void readOn()}>
                    Show more
                  </button>
                )}
              </section>
              <section class="side wide-side" aria-label="The item">
                {key === undefined ? <p class="faint">Choose an item to see it whole.</p> : <ItemDetails named={key} />}
              </section>
            </div>
          </>
        )
      )}
    </main>
  );
};

const ItemDetails = ({ named }: { readonly named: string }) => {
  const [namespace, key] = JSON.parse(named) as [string[], string];
  const query = { namespace: JSON.stringify(namespace), key };
  const { answer, failure, again } = useAnswer("item", undefined, query);
  if (failure !== undefined && answer === undefined) return <Trouble failure={failure} again={again} />;
  if (answer === undefined) return <Loading what="the item" />;
  const { provenance } = answer;
  return (
    <>
      <h2>
        {answer.key} <CopyButton text={answer.key} what="the key" />
      </h2>
      <dl class="facts-list">
        <dt>Namespace</dt>
        <dd>{namespaceText(answer.namespace)}</dd>
        <dt>Changed</dt>
        <dd>
          <When at={answer.updatedAt} />, version <code>{answer.version}</code>
        </dd>
        {answer.expiresAt !== undefined && (
          <>
            <dt>Ends</dt>
            <dd>{exactTime(answer.expiresAt)}</dd>
          </>
        )}
        {answer.dimension !== undefined && (
          <>
            <dt>Vector</dt>
            <dd>{plural(answer.dimension, "number")}</dd>
          </>
        )}
      </dl>
      {provenance !== undefined && (
        <blockquote class="card">
          <p>“{provenance.quote}”</p>
          <p class="faint">
            {provenance.threadId === undefined ? (
              "The thread it rests on is not known."
            ) : (
              <>
                Said in{" "}
                <a
                  href={threadHref(provenance.threadId, "messages", {
                    m: provenance.message === undefined ? undefined : provenance.message + 1,
                  })}
                >
                  {provenance.threadId}
                </a>{" "}
                <When at={provenance.at} />
              </>
            )}
          </p>
        </blockquote>
      )}
      <h3>Value</h3>
      <pre class="plain" tabIndex={0}>
        {answer.value.text}
        {answer.value.length > answer.value.text.length && `\n… ${numberText(answer.value.length)} characters`}
      </pre>
      {(answer.metadata.node.size ?? 0) > 0 && (
        <>
          <h3>Metadata</h3>
          <ValueTree answer={answer.metadata} path={[]} read={undefined} />
        </>
      )}
      {answer.dimension !== undefined && <Neighbours query={query} />}
    </>
  );
};

const Neighbours = ({ query }: { readonly query: { readonly namespace: string; readonly key: string } }) => {
  const { answer, failure } = useAnswer("neighbours", undefined, query);
  if (failure !== undefined && answer === undefined) return <Trouble failure={failure} />;
  return (
    <>
      <h3>Nearest in meaning</h3>
      {answer?.hits.length === 0 && <p class="faint">No other item has a vector.</p>}
      <ol class="plain-list">
        {(answer?.hits ?? []).map((hit) => (
          <li key={JSON.stringify([hit.namespace, hit.key])}>
            <meter min={0} max={1} value={Math.max(0, hit.score)} aria-label={`Likeness of ${hit.key}`} />{" "}
            <span class="number">{hit.score.toFixed(3)}</span>{" "}
            <a href={href(["items"], { key: JSON.stringify([hit.namespace, hit.key]) })}>{hit.key}</a>{" "}
            <span class="faint clip-two">{hit.preview}</span>
          </li>
        ))}
      </ol>
    </>
  );
};
