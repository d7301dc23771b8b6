import type { ShownCall, ShownExecution } from "../../api.ts";
import { mayWrite } from "../about.ts";
import { openDialog } from "../dialogs/open-dialog.ts";
import { durationText, exactTime } from "../wording.ts";
import { Badge, type Tone } from "./basics.tsx";
import { Icon, type IconName } from "./icons.tsx";
import { CutStoredText } from "./stored-text.tsx";

const STATUS: Readonly<
  Record<ShownExecution["status"], readonly [words: string, tone: Tone, icon: IconName | undefined, means: string]>
> = {
  intended: ["not begun", "note", undefined, "It was asked for and has not begun."],
  started: [
    "begun, no outcome",
    "alarm",
    "warning",
    "It was begun and no outcome is recorded. It may be running, or its process died.",
  ],
  waiting: ["waits for a person", "ask", "question", "It continues once a person has answered."],
  pending: [
    "under way elsewhere",
    "note",
    undefined,
    "It is being worked on elsewhere, and the result will arrive from there.",
  ],
  succeeded: ["succeeded", "good", "check", "It took effect, and its result is in the thread."],
  failed: ["failed", "alarm", "cross", "It failed, and the model was told."],
  unknown: ["in doubt", "alarm", "warning", "It was begun, and it is unknown whether it took effect."],
  denied: ["denied", "note", "cross", "A person did not let it run."],
};

export const CallStatus = ({ execution }: { readonly execution: ShownExecution | undefined }) => {
  if (execution === undefined)
    return (
      <Badge tone="note" title="The ledger has no entry for this call">
        not in the ledger
      </Badge>
    );
  const [words, tone, icon, means] = STATUS[execution.status];
  return (
    <Badge tone={tone} title={means} {...(icon !== undefined && { icon })}>
      {words}
    </Badge>
  );
};

const EFFECT: Readonly<Record<string, string>> = {
  pure: "pure: running it again changes nothing",
  idempotent: "idempotent: running it again has the same effect once",
  atMostOnce: "at most once: it must not run twice",
};

/** What the library does with a call that a crash left open, by what the tool said of itself. */
export function nextRunText({ effect }: ShownExecution): string {
  if (effect === "pure" || effect === "idempotent") return "The next run starts it again: repeating it does no harm.";
  return "The next run does not start it again. It stays in doubt until a person finds out how it ended.";
}

export const callFacts = (execution: ShownExecution): string => {
  const { attempts, startedAt, settledAt, effect } = execution;
  const took = startedAt !== undefined && settledAt !== undefined ? durationText(settledAt - startedAt) : undefined;
  const tries = attempts !== undefined && attempts > 1 ? `${attempts} attempts` : undefined;
  return [took, tries, effect === undefined ? undefined : EFFECT[effect]?.split(":")[0]].filter(Boolean).join(" · ");
};

/** A call inside the conversation, with what the ledger records about it. */
export const ToolCallBlock = ({
  call,
  thread,
  at,
  isNewest,
}: {
  readonly call: ShownCall;
  readonly thread: string;
  readonly at: string | undefined;
  readonly isNewest: boolean;
}) => {
  const { execution, question } = call;
  const canAct = mayWrite.value && isNewest;
  const isInDoubt = execution?.status === "unknown" || execution?.status === "started";
  return (
    <section class="call" aria-label={`Call of ${call.name}`}>
      <header>
        <code class="tool-name">{call.name}</code>
        <CallStatus execution={execution} />
        {execution !== undefined && <span class="faint">{callFacts(execution)}</span>}
        {execution?.startedAt !== undefined && <span class="faint exact">{exactTime(execution.startedAt)}</span>}
      </header>
      {call.arguments.length > 2 && (
        <CutStoredText {...call.arguments} thread={thread} at={at} path={call.path} plain />
      )}
      {call.invalid !== undefined && <p class="error-text">Its arguments could not be read: {call.invalid}</p>}
      {execution?.error !== undefined && <p class="error-text">{execution.error.text}</p>}
      {execution?.settledBy !== undefined && (
        <p class="faint">
          Settled by {execution.settledBy.by}
          {execution.settledBy.reason !== undefined && `: ${execution.settledBy.reason}`}
        </p>
      )}
      {question !== undefined && (
        <div class="question">
          <Icon name="question" />
          <div>
            <p>{question.question.text}</p>
            {question.answer !== undefined && (
              <p class="faint">
                Answered: {question.answer.text}
                {question.isSent && " (the thread's next run takes it in)"}
              </p>
            )}
            {question.answer === undefined && canAct && (
              <button
                type="button"
                class="primary small"
                onClick={() => openDialog({ kind: "answer", thread, question })}
              >
                Answer
              </button>
            )}
          </div>
        </div>
      )}
      {isInDoubt && execution !== undefined && canAct && (
        <button type="button" class="small" onClick={() => openDialog({ kind: "settle", thread, execution })}>
          Say how it ended
        </button>
      )}
    </section>
  );
};
