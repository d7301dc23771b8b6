import { useEffect, useState } from "preact/hooks";
import type { ValuePath } from "../../api.ts";
import { tell } from "../about.ts";
import { go } from "../addresses.ts";
import { ask } from "../asking.ts";
import { Loading, Trouble } from "../parts/basics.tsx";
import { ActionForm, Dialog } from "../parts/dialog.tsx";
import { useAnswer } from "../use-answer.ts";
import { exactTime, plural, shortId } from "../wording.ts";
import { closeDialog, wrote } from "./open-dialog.ts";

const suggested = (thread: string): string => {
  const [, stem = thread, number] = /^(.*)~(\d+)$/.exec(thread) ?? [];
  return `${stem}~${number === undefined ? 2 : Number(number) + 1}`;
};

export const ForkDialog = ({ thread, at }: { readonly thread: string; readonly at?: string | undefined }) => {
  const { answer, failure } = useAnswer("state", thread, { at });
  const [target, setTarget] = useState(suggested(thread));
  const [settles, setSettles] = useState(true);
  return (
    <Dialog title="Fork" close={closeDialog}>
      {failure !== undefined && answer === undefined && <Trouble failure={failure} />}
      {answer === undefined ? (
        failure === undefined && <Loading what="the checkpoint" />
      ) : (
        <ActionForm
          verb="Fork"
          isReady={target.trim() !== ""}
          act={async () => {
            await ask("fork", {
              thread,
              body: { target, at: answer.checkpointId, openCalls: settles ? "settle" : "keep" },
            });
            wrote();
            tell(`Forked as ${target}`);
            go(["t", target, "messages"]);
          }}
        >
          <p>
            A new thread that begins as <strong>{thread}</strong> was at{" "}
            <code title={answer.checkpointId}>{shortId(answer.checkpointId)}</code>, saved {exactTime(answer.at)}. The
            original stays as it is.
          </p>
          <label>
            Id of the new thread{" "}
            <input value={target} onInput={(event) => setTarget(event.currentTarget.value)} required autofocus />
          </label>
          {answer.openCalls.length > 0 && (
            <fieldset>
              <legend>
                {plural(answer.openCalls.length, "call")} open at this point:{" "}
                {answer.openCalls.map(({ name }) => name).join(", ")}
              </legend>
              <label class="choice">
                <input type="radio" name="open" checked={settles} onChange={() => setSettles(true)} /> Leave them to the
                original; the fork is told that they were not run
              </label>
              <label class="choice">
                <input type="radio" name="open" checked={!settles} onChange={() => setSettles(false)} /> Run them in the
                fork as well, with keys of their own
              </label>
              {answer.openCalls.some(({ isBegun }) => isBegun) && (
                <p class="faint">
                  Calls that were begun are settled in the fork either way: only the thread that began them can find out
                  how they ended.
                </p>
              )}
            </fieldset>
          )}
        </ActionForm>
      )}
    </Dialog>
  );
};

interface EditProps {
  readonly thread: string;
  readonly at?: string | undefined;
  readonly path: ValuePath;
  readonly what: string;
  readonly isText: boolean;
}

const LONGEST = 200_000;

/** The fork's first two checkpoints differ by exactly this edit. */
export const EditDialog = ({ thread, at, path, what, isText }: EditProps) => {
  const [text, setText] = useState<string>();
  const [original, setOriginal] = useState("");
  const [failure, setFailure] = useState<Error>();
  const [target, setTarget] = useState(suggested(thread));
  const [dropAfter, setDropAfter] = useState(path[0] === "messages");
  useEffect(() => {
    void readValue(thread, at, path, isText).then((value) => {
      setText(value);
      setOriginal(value);
    }, setFailure);
  }, []);
  const parsed = isText ? { value: text } : parse(text ?? "");
  const isMessage = path[0] === "messages" && typeof path[1] === "number";
  return (
    <Dialog title={`Edit ${what} in a fork`} close={closeDialog} wide>
      {failure !== undefined && <Trouble failure={failure} />}
      {text === undefined ? (
        failure === undefined && <Loading what="the value" />
      ) : (
        <ActionForm
          verb="Fork with this edit"
          isReady={target.trim() !== "" && parsed !== undefined && text !== original}
          act={async () => {
            await ask("edit", {
              thread,
              body: { target, at, path, value: parsed?.value, dropAfter: isMessage && dropAfter },
            });
            wrote();
            tell(`Forked as ${target}, with the edit`);
            go(["t", target, "messages"], { m: isMessage ? Number(path[1]) + 1 : undefined });
          }}
        >
          <label>
            {isText ? "Text" : "Value, as JSON"}
            <textarea
              rows={12}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
              spellcheck={false}
              autofocus
            />
          </label>
          {parsed === undefined && (
            <p class="error-text" role="alert">
              This is not JSON yet.
            </p>
          )}
          <p class="faint" role="status">
            {text === original ? "Nothing changed so far." : `Changes ${path.join(" › ")}`}
          </p>
          {isMessage && (
            <label class="choice">
              <input
                type="checkbox"
                checked={dropAfter}
                onChange={(event) => setDropAfter(event.currentTarget.checked)}
              />{" "}
              Leave out everything after this message, to go on from here
            </label>
          )}
          <label>
            Id of the new thread{" "}
            <input value={target} onInput={(event) => setTarget(event.currentTarget.value)} required />
          </label>
          <p class="faint">The original stays as it is. Calls that are open in it are not run in the fork.</p>
        </ActionForm>
      )}
    </Dialog>
  );
};

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

async function readValue(thread: string, at: string | undefined, path: ValuePath, isText: boolean): Promise<string> {
  if (!isText) return JSON.stringify(await readTree(thread, at, path, { left: 2000 }), null, 2);
  let text = "";
  for (;;) {
    const answer = await ask("text", { thread, query: { at, path: JSON.stringify(path), from: text.length } });
    text += answer.text;
    if (answer.length > LONGEST) throw new Error("This text is too long to be edited here.");
    if (text.length >= answer.length) return text;
  }
}

/** A value whole, member by member, with the tags that the codec has for what JSON lacks. */
async function readTree(
  thread: string,
  at: string | undefined,
  path: ValuePath,
  room: { left: number },
): Promise<unknown> {
  if (room.left-- <= 0) throw new Error("This value has too many members to be edited here; edit a part of it.");
  const query = { at, path: JSON.stringify(path) };
  const { node, children } = await ask("value", { thread, query });
  const members = [...children];
  while (members.length < (node.size ?? 0) && ["list", "object"].includes(node.type)) {
    const next = await ask("value", { thread, query: { ...query, from: members.length } });
    if (next.children.length === 0) break;
    members.push(...next.children);
  }
  switch (node.type) {
    case "list":
      return Promise.all(members.map(({ step }) => readTree(thread, at, [...path, step], room)));
    case "object": {
      const entries = await Promise.all(
        members.map(async ({ step }) => [step, await readTree(thread, at, [...path, step], room)] as const),
      );
      return Object.fromEntries(entries);
    }
    case "text":
      return readValue(thread, at, path, true);
    case "null":
      return null;
    case "boolean":
      return node.text === "true";
    case "number":
      return Number.isFinite(Number(node.text)) && node.text !== "-0"
        ? Number(node.text)
        : { $: "number", v: node.text };
    case "date":
      return { $: "date", v: node.text };
    case "bigint":
      return { $: "bigint", v: node.text };
    case "undefined":
      return { $: "undefined" };
    default:
      throw new Error(`A ${node.type} cannot be edited here.`);
  }
}
