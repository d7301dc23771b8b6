import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Trouble } from "./basics.tsx";
import { Icon } from "./icons.tsx";

/** The browser's own dialog: it keeps the focus inside, closes on Escape, and gives the focus back. */
export const Dialog = ({
  title,
  close,
  children,
  wide = false,
}: {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
}) => {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={element} class={wide ? "wide" : ""} aria-labelledby={id} onClose={close}>
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={() => element.current?.close()}>
          <Icon name="cross" />
        </button>
      </header>
      {children}
    </dialog>
  );
};

/** A dialog that does something: it stays open, and says why, where that fails. */
export const ActionForm = ({
  verb,
  tone = "primary",
  isReady = true,
  act,
  children,
}: {
  readonly verb: string;
  readonly tone?: "primary" | "danger";
  readonly isReady?: boolean;
  readonly act: () => Promise<void>;
  readonly children: ComponentChildren;
}) => {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error>();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    try {
      await act();
    } catch (error) {
      setFailure(error as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <div class="fields">{children}</div>
      {failure !== undefined && <Trouble failure={failure} />}
      <footer>
        <button type="submit" class={tone} disabled={isBusy || !isReady}>
          {isBusy ? "Working …" : verb}
        </button>
      </footer>
    </form>
  );
};
