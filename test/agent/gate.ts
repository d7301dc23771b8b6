export interface Gate {
  /** Resolves once the gate was opened. */
  readonly opened: Promise<void>;
  open(): void;
}

/** Lets a test decide when something goes on, instead of waiting and hoping. */
export function gate(): Gate {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
