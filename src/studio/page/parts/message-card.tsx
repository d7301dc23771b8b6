import { useEffect, useState } from "preact/hooks";
import type { ShownMessage, ShownPart } from "../../api.ts";
import { mayWrite } from "../about.ts";
import { ask } from "../asking.ts";
import { openDialog } from "../dialogs/open-dialog.ts";
import { bytesText, numberText } from "../wording.ts";
import { Badge, When } from "./basics.tsx";
import { Icon } from "./icons.tsx";
import { CutStoredText } from "./stored-text.tsx";
import { ToolCallBlock } from "./tool-call.tsx";

const ROLE: Readonly<Record<ShownMessage["role"], string>> = {
  system: "System",
  user: "User",
  assistant: "Assistant",
  tool: "Result",
};

export interface CardPlace {
  readonly thread: string;
  readonly at: string | undefined;
  readonly isNewest: boolean;
  readonly total: number;
  readonly canEdit: boolean;
}

/** One message, with the calls it asked for and what became of them. */
export const MessageCard = ({
  message,
  place,
  isSelected = false,
}: {
  readonly message: ShownMessage;
  readonly place: CardPlace;
  readonly isSelected?: boolean;
}) => {
  const { role, parts, calls, index, name, toolName } = message;
  const { thread, at } = place;
  const said = toolName === undefined ? ROLE[role] : `${ROLE[role]} of ${toolName}`;
  const first = parts.find((part) => part.type === "text");
  return (
    <article
      class={`message ${role}${isSelected ? " selected" : ""}${message.isError === true ? " failed" : ""}`}
      aria-posinset={index + 1}
      aria-setsize={place.total}
      aria-label={`${said}, message ${index + 1} of ${place.total}`}
      tabIndex={-1}
      data-message={index}
    >
      <header>
        <span class="role">
          {toolName === undefined ? (
            ROLE[role]
          ) : (
            <>
              Result of <code>{toolName}</code>
            </>
          )}
        </span>
        {name !== undefined && <span class="faint">{name}</span>}
        {message.isError === true && (
          <Badge tone="alarm" icon="cross">
            error
          </Badge>
        )}
        {message.incomplete === true && (
          <Badge tone="note" title="The model's stream ended before it finished">
            cut off
          </Badge>
        )}
        {message.finishReason !== undefined && <Badge tone="note">{message.finishReason}</Badge>}
        <span class="place faint">
          {message.at !== undefined && <When at={message.at} />}
          <span aria-hidden="true">#{numberText(index + 1)}</span>
        </span>
        {place.canEdit && mayWrite.value && first?.type === "text" && (
          <button
            type="button"
            class="quiet small on-hover"
            aria-label={`Edit message ${index + 1} in a fork`}
            title="Edit in a fork"
            onClick={() =>
              openDialog({ kind: "edit", thread, at, path: first.path, what: `message ${index + 1}`, isText: true })
            }
          >
            <Icon name="edit" />
          </button>
        )}
      </header>
      {parts.map((part, key) => (
        <Part key={key} part={part} place={place} />
      ))}
      {calls.map((call) => (
        <ToolCallBlock key={call.id} call={call} thread={thread} at={at} isNewest={place.isNewest} />
      ))}
      {parts.length + calls.length === 0 && <p class="faint">No words.</p>}
    </article>
  );
};

const Part = ({ part, place: { thread, at } }: { readonly part: ShownPart; readonly place: CardPlace }) => {
  if (part.type === "text") return <CutStoredText {...part} thread={thread} at={at} />;
  if (part.type === "file") return <FileBlock part={part} thread={thread} at={at} />;
  return (
    <details class="reasoning">
      <summary>Reasoning, {numberText(part.length)} characters</summary>
      <CutStoredText {...part} thread={thread} at={at} />
    </details>
  );
};

type FilePart = Extract<ShownPart, { readonly type: "file" }>;

const LARGEST_PICTURE = 4_000_000;

const FileBlock = ({
  part,
  thread,
  at,
}: {
  readonly part: FilePart;
  readonly thread: string;
  readonly at: string | undefined;
}) => {
  const [bytes, setBytes] = useState<Uint8Array<ArrayBuffer>>();
  const [source, setSource] = useState<string>();
  const type = bytes === undefined ? undefined : pictureType(bytes);
  useEffect(() => {
    if (bytes === undefined || type === undefined) return;
    const url = URL.createObjectURL(new Blob([bytes], { type }));
    setSource(url);
    return () => URL.revokeObjectURL(url);
  }, [bytes]);
  const name = part.name ?? "file";
  return (
    <div class="file">
      <Icon name="items" />
      <div>
        <p>
          <strong>{name}</strong>{" "}
          <span class="faint">
            {part.mediaType}
            {part.bytes !== undefined && `, ${bytesText(part.bytes)}`}
          </span>
        </p>
        {part.url !== undefined && <p class="faint">{part.url}</p>}
        {part.bytes !== undefined && bytes === undefined && part.bytes <= LARGEST_PICTURE && (
          <button type="button" class="small" onClick={() => void readBytes(thread, at, part).then(setBytes)}>
            Look at it
          </button>
        )}
        {bytes !== undefined && type === undefined && (
          <p class="faint">It is no picture that is shown here. {hexStart(bytes)}</p>
        )}
        {source !== undefined && <img src={source} alt={name} />}
      </div>
    </div>
  );
};

async function readBytes(thread: string, at: string | undefined, part: FilePart): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(part.bytes ?? 0);
  for (let from = 0; from < whole.length; ) {
    const { base64 } = await ask("bytes", { thread, query: { at, path: JSON.stringify(part.path), from } });
    const slice = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    if (slice.length === 0) break;
    whole.set(slice, from);
    from += slice.length;
  }
  return whole;
}

/** By what is in it, whatever its name says; SVG and HTML are never shown. */
function pictureType(bytes: Uint8Array): string | undefined {
  const begins = (...start: readonly number[]): boolean => start.every((byte, index) => bytes[index] === byte);
  if (begins(0x89, 0x50, 0x4e, 0x47)) return "image/png";
  if (begins(0xff, 0xd8, 0xff)) return "image/jpeg";
  if (begins(0x47, 0x49, 0x46, 0x38)) return "image/gif";
  if (begins(0x52, 0x49, 0x46, 0x46) && bytes[8] === 0x57 && bytes[9] === 0x45) return "image/webp";
  return undefined;
}

const hexStart = (bytes: Uint8Array): string =>
  `Its first bytes: ${[...bytes.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ")}`;
