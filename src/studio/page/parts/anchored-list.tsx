import type { ComponentChildren, Ref } from "preact";
import { useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "preact/hooks";

/** The row at the top of the window, and where its upper edge is, in pixels below the window's. */
interface Anchor {
  readonly index: number;
  readonly offset: number;
}

export interface ListHandle {
  /** Brings a row to the top of the window. */
  show(index: number): void;
  toEnd(): void;
  /** The row at the top. */
  top(): number;
  isAtEnd(): boolean;
}

interface Props {
  readonly count: number;
  readonly row: (index: number) => ComponentChildren;
  /** Tells which rows are wanted, whenever that changes. */
  readonly onWindow: (from: number, until: number) => void;
  readonly start: number | "end";
  readonly handle: Ref<ListHandle>;
  readonly label: string;
}

/** Browsers cap the height of an element; far below that, positions stay exact to the pixel. */
const TALLEST = 8_000_000;
const GUESSED = 96;
const OVERSCAN = 600;

/**
 * A list of any length. Rows near the window stand in normal flow, hung up on an
 * anchor: an index and an offset. A spacer gives the native scrollbar. Small
 * moves are moves by pixels; a large one, which only the scrollbar makes, means
 * an index. So the list has no pixel limit and never needs all heights.
 */
export const AnchoredList = ({ count, row, onWindow, start, handle, label }: Props) => {
  const scroller = useRef<HTMLDivElement>(null);
  const block = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<number, number>());
  const anchor = useRef<Anchor>({ index: start === "end" ? Math.max(0, count - 1) : start, offset: 0 });
  const wantsEnd = useRef(start === "end");
  const lastTop = useRef(0);
  const [, redraw] = useState(0);
  const again = (): void => redraw((turn) => turn + 1);
  const heightOf = (index: number): number => heights.current.get(index) ?? GUESSED;
  const view = (): number => scroller.current?.clientHeight ?? 600;
  const spacer = Math.min(count * GUESSED, TALLEST);

  /** Where the scrollbar would be for an anchor. */
  const topFor = ({ index, offset }: Anchor): number => {
    const share = count <= 1 ? 0 : (index - offset / heightOf(index)) / count;
    return Math.max(0, Math.min(spacer - view(), share * spacer));
  };

  /** The same place, hung up on the first row that reaches into the window; never beyond either end. */
  const settled = (from: Anchor): Anchor => {
    let { index, offset } = from;
    while (offset > 0 && index > 0) offset -= heightOf(--index);
    while (offset + heightOf(index) <= 0 && index < count - 1) offset += heightOf(index++);
    if (index === 0 && offset > 0) return { index: 0, offset: 0 };
    let below = offset;
    for (let at = index; at < count && below < view(); at++) below += heightOf(at);
    if (below >= view()) return { index, offset };
    // Too far down: the last row stands at the lower edge.
    let rest = view();
    let at = count;
    while (at > 0 && rest > 0) rest -= heightOf(--at);
    return rest > 0 ? { index: 0, offset: 0 } : { index: at, offset: rest };
  };

  const place = (next: Anchor): void => {
    anchor.current = settled(next);
    const element = scroller.current;
    if (element !== null) {
      const top = topFor(anchor.current);
      if (Math.abs(element.scrollTop - top) >= 1) element.scrollTop = top;
      lastTop.current = element.scrollTop;
    }
    again();
  };

  useImperativeHandle(handle, () => ({
    show: (index) => {
      wantsEnd.current = false;
      place({ index: Math.max(0, Math.min(count - 1, index)), offset: 0 });
    },
    toEnd: () => {
      wantsEnd.current = true;
      place({ index: count - 1, offset: -1e9 });
    },
    top: () => anchor.current.index,
    isAtEnd: () => windowOf().until >= count && wantsEnd.current,
  }));

  const scrolled = (): void => {
    const element = scroller.current;
    if (element === null) return;
    const moved = element.scrollTop - lastTop.current;
    lastTop.current = element.scrollTop;
    if (Math.abs(moved) < 1) return;
    wantsEnd.current = false;
    if (Math.abs(moved) > 4 * view()) {
      const share = element.scrollTop / Math.max(1, spacer - view());
      anchor.current = settled({ index: Math.min(count - 1, Math.floor(share * count)), offset: 0 });
    } else {
      const { index, offset } = anchor.current;
      anchor.current = settled({ index, offset: offset - moved });
      // The scrollbar came to its end before the rows did: it is only a guess of where they are.
      const isStuck =
        element.scrollTop <= 0 ? anchor.current.index > 0 : element.scrollTop >= spacer - view() - 1 && !isLastInView();
      if (isStuck) rested();
    }
    again();
  };

  /** When the hand rests, the scrollbar is set to where the rows really are. */
  const rested = (): void => {
    const element = scroller.current;
    if (element === null) return;
    const { until } = windowOf();
    wantsEnd.current = until >= count && isLastInView();
    const top = topFor(anchor.current);
    if (Math.abs(element.scrollTop - top) >= 1) element.scrollTop = top;
    lastTop.current = element.scrollTop;
  };

  const isLastInView = (): boolean => {
    let below = anchor.current.offset;
    for (let at = anchor.current.index; at < count && below <= view() + 1; at++) below += heightOf(at);
    return below <= view() + 1;
  };

  function windowOf(): { readonly from: number; readonly until: number; readonly above: number } {
    const { index, offset } = anchor.current;
    let [from, above] = [index, 0];
    while (from > 0 && above - offset < OVERSCAN) above += heightOf(--from);
    let [until, below] = [index, offset];
    while (until < count && below < view() + OVERSCAN) below += heightOf(until++);
    return { from, until, above };
  }

  // Heights become known once rows are drawn: the anchor stays where it is, whatever grows above or below it.
  useLayoutEffect(() => {
    let isNews = false;
    for (const element of block.current?.children ?? []) {
      const index = Number((element as HTMLElement).dataset["index"]);
      const { height } = element.getBoundingClientRect();
      if (height > 0 && Math.abs(heightOf(index) - height) >= 0.5) {
        heights.current.set(index, height);
        isNews = true;
      }
    }
    if (heights.current.size > 5000) heights.current = new Map([...heights.current].slice(-2500));
    if (isNews) place(wantsEnd.current ? { index: count - 1, offset: -1e9 } : anchor.current);
  });

  const { from, until, above } = windowOf();
  useEffect(() => onWindow(from, until), [from, until, count]);
  useEffect(() => place(wantsEnd.current ? { index: count - 1, offset: -1e9 } : anchor.current), [count]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(again);
    observer.observe(element);
    if (block.current !== null) observer.observe(block.current);
    element.addEventListener("scrollend", rested);
    return () => {
      observer.disconnect();
      element.removeEventListener("scrollend", rested);
    };
  });

  const rows: ComponentChildren[] = [];
  for (let index = from; index < until; index++) {
    rows.push(
      <div key={index} data-index={index} class="row">
        {row(index)}
      </div>,
    );
  }
  const top = (scroller.current?.scrollTop ?? 0) + anchor.current.offset - above;
  return (
    <div
      class="anchored"
      ref={scroller}
      onScroll={scrolled}
      tabIndex={0}
      role="feed"
      aria-label={label}
      aria-busy="false"
    >
      <div class="spacer" style={{ height: `${spacer}px` }} />
      <div class="block" ref={block} style={{ transform: `translateY(${top}px)` }}>
        {rows}
      </div>
    </div>
  );
};
