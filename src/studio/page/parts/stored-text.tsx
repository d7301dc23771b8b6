import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ValuePath } from "../../api.ts";
import { ask } from "../asking.ts";
import { numberText } from "../wording.ts";

/**
 * Text from the store, set as text. Fenced code, inline code and bold are marked
 * by elements made here; nothing else becomes more than letters, links included.
 */
export const StoredText = ({ text }: { readonly text: string }) => (
  <div class="stored">{text.split(/^(```.*\r?\n[\s\S]*?(?:^```[ \t]*$|$(?![\s\S])))/m).map(block)}</div>
);

function block(part: string, index: number): ComponentChildren {
  if (part === "") return null;
  if (index % 2 === 0)
    return (
      <p key={index}>
        {part
          .replace(/^\n|\n$/g, "")
          .split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/)
          .map(inline)}
      </p>
    );
  const code = part.replace(/^```[^\n]*\n/, "").replace(/\n?```[ \t]*$/, "");
  return (
    <pre key={index} tabIndex={0}>
      <code>{code}</code>
    </pre>
  );
}

function inline(part: string, index: number): ComponentChildren {
  if (index % 2 === 0) return part;
  if (part.startsWith("`")) return <code key={index}>{part.slice(1, -1)}</code>;
  return <strong key={index}>{part.slice(2, -2)}</strong>;
}

/** Text that the server cut, and the way to the rest of it, slice by slice. */
export const CutStoredText = ({
  text,
  length,
  thread,
  at,
  path,
  plain = false,
}: {
  readonly text: string;
  readonly length: number;
  readonly thread: string;
  readonly at: string | undefined;
  readonly path: ValuePath;
  readonly plain?: boolean;
}) => {
  const [more, setMore] = useState("");
  const shown = more === "" ? text : more;
  const readOn = async (): Promise<void> => {
    const from = more === "" ? 0 : more.length;
    const answer = await ask("text", { thread, query: { at, path: JSON.stringify(path), from } });
    setMore(more === "" ? answer.text : more + answer.text);
  };
  return (
    <>
      {plain ? (
        <pre class="plain" tabIndex={0}>
          {shown}
        </pre>
      ) : (
        <StoredText text={shown} />
      )}
      {shown.length < length && (
        <button type="button" class="small more" onClick={() => void readOn()}>
          Show more of {numberText(length)} characters
        </button>
      )}
    </>
  );
};
