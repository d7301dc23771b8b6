import { useEffect, useRef, useState } from "preact/hooks";
import type { CaseLine, ProofLine } from "../../service-api.ts";
import { mayWrite } from "../about.ts";
import { threadHref } from "../addresses.ts";
import { follow } from "../asking.ts";
import { Badge, Trouble } from "../parts/basics.tsx";
import { plural } from "../wording.ts";

type Finding = Extract<ProofLine, { readonly type: "finding" }>;
type FailedCase = Extract<CaseLine, { readonly type: "failed" }>;

/** What the two streams have reported so far. */
interface Told {
  readonly records?: Exclude<ProofLine, Finding>;
  readonly findings: readonly Finding[];
  readonly cases?: Exclude<CaseLine, FailedCase>;
  readonly failed: readonly FailedCase[];
}

const NOTHING: Told = { findings: [], failed: [] };

/** Every record is read and compared with its checksum; where Studio may write, the store itself is tried as well. */
export const Proofs = () => {
  const [told, setTold] = useState(NOTHING);
  const [failure, setFailure] = useState<Error>();
  const [isRunning, setRunning] = useState(false);
  const ending = useRef<AbortController>(undefined);
  useEffect(() => () => ending.current?.abort(), []);
  const run = async (): Promise<void> => {
    const controller = new AbortController();
    const { signal } = controller;
    ending.current = controller;
    setRunning(true);
    setFailure(undefined);
    setTold(NOTHING);
    try {
      for await (const line of follow("proofs", { signal })) setTold((before) => withRecords(before, line));
      if (mayWrite.value) {
        for await (const line of follow("cases", { signal })) setTold((before) => withCase(before, line));
      }
    } catch (error) {
      if (!signal.aborted) setFailure(error as Error);
    }
    setRunning(false);
  };
  return (
    <div class="card proofs">
      <div class="card-head">
        <h2>Proofs</h2>
        {isRunning ? (
          <button type="button" class="small" onClick={() => ending.current?.abort()}>
            Stop
          </button>
        ) : (
          <button type="button" class="primary small" onClick={() => void run()}>
            Run the proofs
          </button>
        )}
      </div>
      <p class="faint">
        Reads every record of every thread and compares it with its checksum, which takes as long as reading all of it.{" "}
        {mayWrite.value
          ? "Then it proves on the store itself that it does what an agent relies on, in threads of its own that it removes again; holdfast doctor also runs the longest case."
          : "It changes nothing. Started with --write, it also proves on the store itself that it does what an agent relies on."}
      </p>
      {failure !== undefined && <Trouble failure={failure} />}
      {told.records !== undefined && <Records told={told} />}
      {told.cases !== undefined && <Cases told={told} />}
    </div>
  );
};

const withRecords = (before: Told, line: ProofLine): Told =>
  line.type === "finding" ? { ...before, findings: [...before.findings, line] } : { ...before, records: line };

const withCase = (before: Told, line: CaseLine): Told =>
  line.type === "failed" ? { ...before, failed: [...before.failed, line] } : { ...before, cases: line };

const Records = ({ told: { records, findings } }: { readonly told: Told }) => {
  if (records === undefined) return null;
  const isDone = records.type === "end";
  return (
    <>
      <p role="status">
        {isDone && findings.length === 0 && (
          <Badge tone="good" icon="check">
            no damage
          </Badge>
        )}{" "}
        {plural(records.threads, "thread")}, {plural(records.records, "record")} proven{!isDone && " so far"}
        {records.type === "end" && findings.length > 0 && `; ${plural(records.findings, "finding")}`}
      </p>
      <ul class="plain-list">
        {findings.map((each, index) => (
          <li key={index}>
            <Badge tone="alarm" icon="warning">
              {each.code}
            </Badge>{" "}
            <a href={threadHref(each.threadId, "timeline")}>{each.threadId}</a> {each.message}{" "}
            {each.lost > 0 && <span class="faint">{plural(each.lost, "checkpoint")} cannot be loaded.</span>}
          </li>
        ))}
      </ul>
    </>
  );
};

const Cases = ({ told: { cases, failed } }: { readonly told: Told }) => {
  if (cases === undefined) return null;
  return (
    <>
      <p role="status">
        {cases.type === "progress" ? (
          `${cases.done} of ${cases.of} cases tried on the store so far`
        ) : (
          <>
            {cases.failed === 0 && (
              <Badge tone="good" icon="check">
                does what it must
              </Badge>
            )}{" "}
            {plural(cases.passed, "case")} passed, {cases.failed} failed, {cases.notApplicable} not applicable
            {cases.leftBehind > 0 &&
              `; ${plural(cases.leftBehind, "thread")} could not be removed: holdfast doctor --clean tries again`}
          </>
        )}
      </p>
      <ul class="plain-list">
        {failed.map((each, index) => (
          <li key={index}>
            <Badge tone="alarm" icon="warning">
              failed
            </Badge>{" "}
            {each.area}: {each.name}: {each.message}
          </li>
        ))}
      </ul>
    </>
  );
};
