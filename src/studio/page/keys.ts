import { useEffect, useRef } from "preact/hooks";

export type Keys = Readonly<Record<string, () => void>>;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

interface Stroke {
  readonly key: string;
  readonly at: number;
}

let before: Stroke = { key: "", at: 0 };
let latest: Stroke = before;
/** Seen before any view sees it, so that every view knows which stroke came before. */
addEventListener(
  "keydown",
  ({ key, timeStamp }) => {
    if (key === "Shift") return;
    before = latest;
    latest = { key, at: timeStamp };
  },
  { capture: true },
);

/** Keys of a view, while it is shown. "g g" is two strokes. Keys typed into a field or a dialog are left alone. */
export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
      const isSecond = event.timeStamp - before.at < 1000;
      const work = (isSecond ? current.current[`${before.key} ${event.key}`] : undefined) ?? current.current[event.key];
      if (work === undefined) return;
      event.preventDefault();
      work();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

/** What `?` shows. */
export const KEY_HELP: readonly (readonly [keys: string, does: string])[] = [
  ["?", "this list"],
  ["/", "to the filter or search field"],
  ["g t", "threads"],
  ["g i", "inbox"],
  ["g s", "search"],
  ["g h", "health"],
  ["j / k", "next or previous row or message"],
  ["Enter", "open what is selected"],
  ["g g / G", "to the beginning or the end of a thread"],
  ["n / p", "next or previous problem in a thread"],
  ["f", "find in a thread"],
  ["1 … 6", "the parts of a thread"],
  ["F", "fork from what is shown"],
  ["Esc", "close, or leave a field"],
];
