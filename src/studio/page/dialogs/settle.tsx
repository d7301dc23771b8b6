import { useState } from "preact/hooks";
import type { ShownExecution } from "../../api.ts";
import { tell } from "../about.ts";
import { ask } from "../asking.ts";
import { CopyButton } from "../parts/basics.tsx";
import { ActionForm, Dialog } from "../parts/dialog.tsx";
import { closeDialog, wrote } from "./open-dialog.ts";

const NAME_KEY = "holdfast-studio-name";

/** A person found out how a call in doubt ended; who, and how, is kept with it. */
export const SettleDialog = ({
  thread,
  execution,
}: {
  readonly thread: string;
  readonly execution: Pick<ShownExecution, "toolCallId" | "toolName" | "idempotencyKey">;
}) => {
  const [outcome, setOutcome] = useState<"done" | "not-done">();
  const [by, setBy] = useState(localStorage.getItem(NAME_KEY) ?? "");
  const [reason, setReason] = useState("");
  const [result, setResult] = useState("");
  return (
    <Dialog title={`How did ${execution.toolName} end?`} close={closeDialog}>
      <ActionForm
        verb="Record it"
        isReady={outcome !== undefined && by.trim() !== ""}
        act={async () => {
          await ask("settle", { thread, body: { toolCallId: execution.toolCallId, outcome, by, reason, result } });
          localStorage.setItem(NAME_KEY, by);
          wrote();
          tell("Recorded. The model is told when the thread continues.");
        }}
      >
        {execution.idempotencyKey !== undefined && (
          <p>
            Look up the key <code class="wrap">{execution.idempotencyKey}</code>{" "}
            <CopyButton text={execution.idempotencyKey} what="the idempotency key" /> where the effect would be.
          </p>
        )}
        <fieldset>
          <legend>Outcome</legend>
          <label class="choice">
            <input type="radio" name="outcome" checked={outcome === "done"} onChange={() => setOutcome("done")} /> It
            happened
          </label>
          <label class="choice">
            <input
              type="radio"
              name="outcome"
              checked={outcome === "not-done"}
              onChange={() => setOutcome("not-done")}
            />{" "}
            It did not happen, and will not any more
          </label>
        </fieldset>
        <label>
          Who says so{" "}
          <input value={by} onInput={(event) => setBy(event.currentTarget.value)} required autocomplete="name" />
        </label>
        <label>
          How it was found out{" "}
          <input
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
            placeholder="charge ch_1 is in the dashboard"
          />
        </label>
        {outcome === "done" && (
          <label>
            What the tool would have returned{" "}
            <textarea rows={3} value={result} onInput={(event) => setResult(event.currentTarget.value)} />
          </label>
        )}
      </ActionForm>
    </Dialog>
  );
};
