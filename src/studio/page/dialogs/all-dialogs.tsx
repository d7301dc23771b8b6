import { KEY_HELP } from "../keys.ts";
import { Dialog } from "../parts/dialog.tsx";
import { AnswerDialog } from "./answer.tsx";
import { DeleteDialog, LeaseDialog } from "./delete.tsx";
import { EditDialog, ForkDialog } from "./fork.tsx";
import { closeDialog, dialog } from "./open-dialog.ts";
import { SettleDialog } from "./settle.tsx";

/** The dialog that is open, if any. */
export const AllDialogs = () => {
  const request = dialog.value;
  if (request === undefined) return null;
  switch (request.kind) {
    case "fork":
      return <ForkDialog {...request} />;
    case "edit":
      return <EditDialog {...request} />;
    case "answer":
      return <AnswerDialog {...request} />;
    case "settle":
      return <SettleDialog {...request} />;
    case "delete":
      return <DeleteDialog {...request} />;
    case "lease":
      return <LeaseDialog {...request} />;
    default:
      return (
        <Dialog title="Keys" close={closeDialog}>
          <dl class="key-list">
            {KEY_HELP.map(([keys, does]) => (
              <>
                <dt key={keys}>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{does}</dd>
              </>
            ))}
          </dl>
        </Dialog>
      );
  }
};
