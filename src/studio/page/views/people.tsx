import { useState } from "preact/hooks";
import type { ErasureAnswer, ErasurePlan, InventoryAnswer } from "../../items-api.ts";
import { about, copy, mayDelete } from "../about.ts";
import { threadHref } from "../addresses.ts";
import { ask } from "../asking.ts";
import { Empty, TableFrame, Trouble } from "../parts/basics.tsx";
import { ActionForm, Dialog } from "../parts/dialog.tsx";
import { numberText, plural } from "../wording.ts";

/** What is kept about a person: found, and erased with a proof of it. */
export const PeopleView = () => {
  const [userId, setUserId] = useState("");
  const [asked, setAsked] = useState("");
  const [inventory, setInventory] = useState<InventoryAnswer>();
  const [failure, setFailure] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const [plan, setPlan] = useState<ErasurePlan>();
  const [receipt, setReceipt] = useState<ErasureAnswer>();
  const look = async (event?: Event): Promise<void> => {
    event?.preventDefault();
    setBusy(true);
    setFailure(undefined);
    setInventory(undefined);
    try {
      setInventory(await ask("inventory", { body: { userId } }));
      setAsked(userId);
    } catch (error) {
      setFailure(error as Error);
    } finally {
      setBusy(false);
    }
  };
  const canErase = mayDelete.value && about.value?.canErase === true;
  return (
    <main class="view" id="main">
      <div class="head">
        <h1>People</h1>
        <p class="faint">Where something about a person is kept, and how it is erased.</p>
      </div>
      <form class="filters" onSubmit={(event) => void look(event)}>
        <input
          aria-label="The person's id"
          placeholder="The person's id"
          value={userId}
          onInput={(event) => setUserId(event.currentTarget.value)}
          required
          autocomplete="off"
        />
        <button type="submit" class="primary" disabled={isBusy}>
          {isBusy ? "Reading all threads …" : "Look"}
        </button>
      </form>
      {failure !== undefined && <Trouble failure={failure} />}
      {inventory === undefined && failure === undefined && !isBusy && (
        <Empty title="Who is it about?">
          <p>
            The id that threads and items name as their <code>subject</code>. All threads and items are read, whatever
            they are called.
          </p>
        </Empty>
      )}
      {inventory !== undefined && (
        <>
          <h2>
            {inventory.total === 0
              ? "Nothing is kept about this person"
              : `${plural(inventory.total, "place")} about this person`}
          </h2>
          {inventory.places.length > 0 && (
            <TableFrame label="Places">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Where</th>
                    <th scope="col">What</th>
                    <th scope="col">Kept in</th>
                    <th scope="col" class="number">
                      How often
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {inventory.places.map((each) => (
                    <tr key={`${each.kind}${each.where}`}>
                      <td>
                        {each.backend.startsWith("threads") ? (
                          <a href={threadHref(each.where)}>{each.where}</a>
                        ) : (
                          each.where
                        )}
                      </td>
                      <td>{each.kind}</td>
                      <td class="faint">{each.backend}</td>
                      <td class="number">{numberText(each.count)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </TableFrame>
          )}
          {inventory.morePlaces > 0 && <p class="faint">{plural(inventory.morePlaces, "more place")}.</p>}
          {inventory.unreached.map(({ where, why }) => (
            <p class="faint" key={where}>
              Not looked at: {where}. {why}
            </p>
          ))}
          {inventory.total > 0 &&
            (canErase ? (
              <button
                type="button"
                class="danger"
                onClick={() => void ask("planErasure", { body: { userId: asked } }).then(setPlan, setFailure)}
              >
                Erase …
              </button>
            ) : (
              <p class="faint">
                To erase here, start Studio with <code>--write --allow-delete --ledger &lt;store&gt;</code> and{" "}
                <code>HOLDFAST_ERASURE_KEY</code>.
              </p>
            ))}
        </>
      )}
      {plan !== undefined && (
        <EraseDialog
          plan={plan}
          userId={asked}
          close={() => setPlan(undefined)}
          done={(answer) => {
            setPlan(undefined);
            setReceipt(answer);
            void look();
          }}
        />
      )}
      {receipt !== undefined && <ReceiptDialog answer={receipt} close={() => setReceipt(undefined)} />}
    </main>
  );
};

const EraseDialog = ({
  plan,
  userId,
  close,
  done,
}: {
  readonly plan: ErasurePlan;
  readonly userId: string;
  readonly close: () => void;
  readonly done: (answer: ErasureAnswer) => void;
}) => {
  const [typed, setTyped] = useState("");
  const [reason, setReason] = useState("");
  return (
    <Dialog title="Erase what is about this person" close={close}>
      <ActionForm
        verb="Erase"
        tone="danger"
        isReady={typed === userId}
        act={async () => done(await ask("erase", { body: { planId: plan.planId, typed, reason } }))}
      >
        <ul class="plain-list">
          {plan.places.map((each) => (
            <li key={each.backend}>
              <strong>{each.backend}</strong>: {plural(each.messages, "message")}, {plural(each.fields, "other value")},{" "}
              {plural(each.items, "item")}
            </li>
          ))}
        </ul>
        {plan.unreached.map(({ where, why }) => (
          <p class="faint" key={where}>
            Not reached: {where}. {why}
          </p>
        ))}
        <p>What is erased cannot be brought back. A receipt says what was done, and holds nothing about the person.</p>
        <label>
          Reason{" "}
          <input
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
            placeholder="request of 12 May"
          />
        </label>
        <label>
          Type <code>{userId}</code> to confirm{" "}
          <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} autocomplete="off" />
        </label>
      </ActionForm>
    </Dialog>
  );
};

const ReceiptDialog = ({ answer, close }: { readonly answer: ErasureAnswer; readonly close: () => void }) => (
  <Dialog title={`Receipt ${answer.number}`} close={close} wide>
    <p>
      {answer.left === 0
        ? "A second look found nothing more."
        : `A second look still found ${plural(answer.left, "place")}.`}
    </p>
    <pre class="plain" tabIndex={0}>
      {answer.receipt}
    </pre>
    <footer>
      <button type="button" class="primary" onClick={() => void copy(answer.receipt, "the receipt")}>
        Copy the receipt
      </button>
    </footer>
  </Dialog>
);
