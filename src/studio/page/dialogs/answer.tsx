import { useState } from "preact/hooks";
import type { ShownQuestion } from "../../api.ts";
import { tell } from "../about.ts";
import { ask, Failure } from "../asking.ts";
import { ActionForm, Dialog } from "../parts/dialog.tsx";
import { closeDialog, writes, wrote } from "./open-dialog.ts";
import { emptyValue, isComplete, SchemaField } from "./schema-field.tsx";

interface Props {
  readonly thread: string;
  readonly question: ShownQuestion;
  readonly about?: string;
}

const send = async (thread: string, question: ShownQuestion, body: object): Promise<void> => {
  try {
    await ask("answer", { thread, body: { id: question.id, ...body } });
  } catch (error) {
    // Another person answered first; the view behind the dialog shows that answer.
    if (error instanceof Failure && error.code === "CONFLICT") writes.value++;
    throw error;
  }
  wrote();
  tell("Answered. The turn continues when an agent runs the thread.");
};

export const AnswerDialog = (props: Props) =>
  props.question.kind === "approval" ? <ApprovalDialog {...props} /> : <QuestionDialog {...props} />;

const QuestionDialog = ({ thread, question }: Props) => {
  const schema = question.schema;
  const [value, setValue] = useState<unknown>(emptyValue(schema));
  const [declines, setDeclines] = useState(false);
  const [reason, setReason] = useState("");
  return (
    <Dialog title="Answer" close={closeDialog}>
      <ActionForm
        verb={declines ? "Decline" : "Answer"}
        isReady={declines || isComplete(schema, value)}
        act={() => send(thread, question, declines ? { declined: true, reason } : { value })}
      >
        <p class="question-text">{question.question.text}</p>
        {declines ? (
          <label>
            Reason <input value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
          </label>
        ) : (
          <SchemaField schema={schema} name="Answer" value={value} change={setValue} isFirst />
        )}
        <label class="choice">
          <input type="checkbox" checked={declines} onChange={(event) => setDeclines(event.currentTarget.checked)} />{" "}
          There will be no answer
        </label>
      </ActionForm>
    </Dialog>
  );
};

type Decision = "approve" | "deny" | "edit";

const ApprovalDialog = ({ thread, question, about = "{}" }: Props) => {
  const [decision, setDecision] = useState<Decision>("approve");
  const [reason, setReason] = useState("");
  const [edited, setEdited] = useState(about);
  const parsed = parse(edited);
  const value =
    decision === "edit"
      ? { decision, arguments: parsed?.value }
      : decision === "deny"
        ? { decision, ...(reason !== "" && { reason }) }
        : { decision };
  const verbs: Readonly<Record<Decision, string>> = {
    approve: "Approve",
    deny: "Deny",
    edit: "Approve with these arguments",
  };
  return (
    <Dialog title="Approve or deny" close={closeDialog}>
      <ActionForm
        verb={verbs[decision]}
        tone={decision === "deny" ? "danger" : "primary"}
        isReady={decision !== "edit" || parsed !== undefined}
        act={() => send(thread, question, { value })}
      >
        <p class="question-text">{question.question.text}</p>
        {about.length > 2 && decision !== "edit" && (
          <pre class="plain" tabIndex={0}>
            {about}
          </pre>
        )}
        <fieldset>
          <legend>Decision</legend>
          {(Object.keys(verbs) as Decision[]).map((each) => (
            <label key={each} class="choice">
              <input type="radio" name="decision" checked={decision === each} onChange={() => setDecision(each)} />{" "}
              {verbs[each]}
            </label>
          ))}
        </fieldset>
        {decision === "deny" && (
          <label>
            Reason, told to the model <input value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
          </label>
        )}
        {decision === "edit" && (
          <label>
            Arguments, as JSON{" "}
            <textarea
              rows={8}
              value={edited}
              onInput={(event) => setEdited(event.currentTarget.value)}
              spellcheck={false}
            />
          </label>
        )}
        {decision === "edit" && parsed === undefined && (
          <p class="error-text" role="alert">
            This is not JSON yet.
          </p>
        )}
      </ActionForm>
    </Dialog>
  );
};

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
