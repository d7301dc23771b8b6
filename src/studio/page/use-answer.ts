import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Answers } from "../answer-types.ts";
import type { RouteName } from "../routes.ts";
import { ask, type Query } from "./asking.ts";

export interface Answering<Name extends RouteName> {
  readonly answer: Answers[Name] | undefined;
  readonly failure: Error | undefined;
  readonly isAsking: boolean;
  readonly again: () => void;
}

const RETRY_MS = 2000;

/**
 * What a view shows. The last answer stays while the same question is asked
 * again; a new question begins empty, so that nothing of another thread is ever
 * shown. A failure is asked again by itself: a store that comes back is seen.
 */
export function useAnswer<Name extends RouteName>(
  name: Name,
  thread: string | undefined,
  query: Query,
  { every, when = true }: { readonly every?: number; readonly when?: boolean } = {},
): Answering<Name> {
  const key = JSON.stringify([name, thread, query]);
  const [state, setState] = useState<{ key: string; answer?: Answers[Name]; failure?: Error; isAsking: boolean }>({
    key,
    isAsking: true,
  });
  const [turn, setTurn] = useState(0);
  const latest = useRef(key);
  latest.current = key;
  useEffect(() => {
    if (!when) return;
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const once = async (): Promise<void> => {
      try {
        const answer = await ask(name, { ...(thread !== undefined && { thread }), query, signal: ending.signal });
        if (ending.signal.aborted) return;
        setState({ key, answer, isAsking: false });
        if (every !== undefined) timer = setTimeout(again, every);
      } catch (error) {
        if (ending.signal.aborted) return;
        const failure = error as Error;
        setState((before) => ({ ...(before.key === key ? before : { key }), failure, isAsking: false }));
        timer = setTimeout(again, RETRY_MS);
      }
    };
    // A hidden page requests nothing.
    const again = (): void => {
      if (document.visibilityState === "visible") void once();
      else timer = setTimeout(again, RETRY_MS);
    };
    setState((before) => (before.key === key ? { ...before, isAsking: true } : { key, isAsking: true }));
    void once();
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [key, turn, when, every]);
  const again = useCallback(() => setTurn((before) => before + 1), []);
  const isCurrent = state.key === key;
  return {
    answer: isCurrent ? state.answer : undefined,
    failure: isCurrent ? state.failure : undefined,
    isAsking: isCurrent ? state.isAsking : true,
    again,
  };
}
