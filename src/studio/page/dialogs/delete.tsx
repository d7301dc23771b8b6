import { useEffect, useState } from "preact/hooks";
import type { DeletePlan } from "../../service-api.ts";
import { tell } from "../about.ts";
import { go } from "../addresses.ts";
import { ask } from "../asking.ts";
import { Loading, Trouble } from "../parts/basics.tsx";
import { ActionForm, Dialog } from "../parts/dialog.tsx";
import { bytesText, plural } from "../wording.ts";
import { closeDialog, wrote } from "./open-dialog.ts";

/** What was shown is deleted and nothing newer: a thread that moves on meanwhile is left alone. */
export const DeleteDialog = ({ thread }: { readonly thread: string }) => {
  const [plan, setPlan] = useState<DeletePlan>();
  const [failure, setFailure] = useState<Error>();
  const [typed, setTyped] = useState("");
  useEffect(() => void ask("planDelete", { thread }).then(setPlan, setFailure), [thread]);
  return (
    <Dialog title="Delete this thread" close={closeDialog}>
      {failure !== undefined && <Trouble failure={failure} />}
      {plan === undefined ? (
        failure === undefined && <Loading what="what would go" />
      ) : (
        <ActionForm
          verb="Delete"
          tone="danger"
          isReady={typed === thread}
          act={async () => {
            await ask("delete", { thread, body: { planId: plan.planId, typed } });
            wrote();
            tell(`${thread} is deleted`);
            go(["threads"]);
          }}
        >
          <p>
            <strong>{plural(plan.checkpoints, "checkpoint")}</strong> with {plural(plan.messages, "message")},{" "}
            {bytesText(plan.bytes)}. They cannot be brought back.
          </p>
          {plan.forks.length > 0 && <p class="faint">Forked from it, and they stay: {plan.forks.join(", ")}.</p>}
          <label>
            Type <code>{thread}</code> to confirm{" "}
            <input
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
              autocomplete="off"
              autofocus
            />
          </label>
        </ActionForm>
      )}
    </Dialog>
  );
};

export const LeaseDialog = ({
  thread,
  owner,
  token,
}: {
  readonly thread: string;
  readonly owner: string;
  readonly token: string;
}) => (
  <Dialog title="Take the thread from its holder" close={closeDialog}>
    <ActionForm
      verb="Take it"
      tone="danger"
      act={async () => {
        await ask("breakLease", { thread, body: { ifToken: token } });
        wrote();
        tell("The lease is broken");
      }}
    >
      <p>
        <strong>{owner}</strong> holds <strong>{thread}</strong>. If that program is alive, its next save is refused and
        its turn ends with an error. Do this only where it will not come back by itself.
      </p>
    </ActionForm>
  </Dialog>
);
