import { useState } from "preact/hooks";
import type { ValueAnswer, ValueChild, ValueNode, ValuePath } from "../../api.ts";
import { ask } from "../asking.ts";
import { bytesText, numberText, plural } from "../wording.ts";
import { Icon } from "./icons.tsx";

export type ReadMembers = (path: ValuePath, from: number) => Promise<ValueAnswer>;

/** Reads what a checkpoint holds, member by member. */
export const membersOf =
  (thread: string, at: string | undefined): ReadMembers =>
  (path, from) =>
    ask("value", { thread, query: { at, path: JSON.stringify(path), from } });

/** A value as a tree that is read where it is opened. */
export const ValueTree = ({
  answer,
  path,
  read,
  edit,
}: {
  readonly answer: ValueAnswer;
  readonly path: ValuePath;
  readonly read: ReadMembers | undefined;
  readonly edit?: ((path: ValuePath, node: ValueNode) => void) | undefined;
}) => {
  const [more, setMore] = useState<readonly ValueChild[]>([]);
  const children = [...answer.children, ...more];
  const left = (answer.node.size ?? 0) - children.length;
  return (
    <ul class="tree">
      {children.length === 0 && <li class="faint">empty</li>}
      {children.map((child) => (
        <Member key={child.step} child={child} path={[...path, child.step]} read={read} edit={edit} />
      ))}
      {left > 0 && read !== undefined && (
        <li>
          <button
            type="button"
            class="small more"
            onClick={() => void read(path, children.length).then((next) => setMore([...more, ...next.children]))}
          >
            {numberText(left)} more
          </button>
        </li>
      )}
    </ul>
  );
};

const Member = ({
  child,
  path,
  read,
  edit,
}: {
  readonly child: ValueChild;
  readonly path: ValuePath;
  readonly read: ReadMembers | undefined;
  readonly edit?: ((path: ValuePath, node: ValueNode) => void) | undefined;
}) => {
  const [opened, setOpened] = useState<ValueAnswer>();
  const hasMembers =
    ["list", "object", "map", "set"].includes(child.type) && (child.size ?? 0) > 0 && read !== undefined;
  const toggle = async (): Promise<void> => {
    if (opened !== undefined) setOpened(undefined);
    else setOpened(await read?.(path, 0));
  };
  return (
    <li>
      <div class="member">
        {hasMembers ? (
          <button type="button" class="quiet opener" aria-expanded={opened !== undefined} onClick={() => void toggle()}>
            <Icon name="chevron" />
            <span class="key">{child.label}</span>
          </button>
        ) : (
          <span class="key leaf">{child.label}</span>
        )}
        <NodeText node={child} />
        {edit !== undefined && path.length > 0 && (
          <button
            type="button"
            class="quiet small on-hover"
            aria-label={`Edit ${child.label} in a fork`}
            onClick={() => edit(path, child)}
          >
            <Icon name="edit" />
          </button>
        )}
      </div>
      {opened !== undefined && <ValueTree answer={opened} path={path} read={read} edit={edit} />}
    </li>
  );
};

const NodeText = ({ node }: { readonly node: ValueNode }) => {
  const { type, text, size = 0 } = node;
  switch (type) {
    case "text":
      return (
        <span class="leaf-text">
          “{text}
          {(text?.length ?? 0) < size ? <span class="faint">… {numberText(size)} characters</span> : "”"}
        </span>
      );
    case "list":
      return <span class="faint">{plural(size, "item")}</span>;
    case "object":
      return <span class="faint clip">{size === 0 ? "empty" : (node.hint ?? plural(size, "member"))}</span>;
    case "map":
      return <span class="faint">Map of {numberText(size)}</span>;
    case "set":
      return <span class="faint">Set of {numberText(size)}</span>;
    case "bytes":
      return <span class="faint">bytes, {bytesText(size)}</span>;
    case "sealed":
      return <span class="faint">sealed: only its key opens it</span>;
    case "null":
    case "undefined":
      return <span class="leaf-other">{type}</span>;
    default:
      return (
        <span class="leaf-other">
          {text}
          {(type === "date" || type === "bigint") && <span class="faint"> {type}</span>}
        </span>
      );
  }
};
