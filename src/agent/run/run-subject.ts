import { StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { UserMessage } from "../../state/message.ts";
import { type Subjects, subjectOfTurn, warnOfUnnamedPerson } from "../../state/people/subjects.ts";
import type { RunOptions } from "../run-options.ts";
import type { RunContext } from "./run-context.ts";

/** The same message, saying who it is about: as the run says, or as the session that it is a task of does. */
export function aboutSubject(
  message: UserMessage,
  { subject, session }: Pick<RunOptions, "subject" | "session">,
): UserMessage {
  const about = subject ?? message.metadata?.["subject"] ?? session?.subject;
  return about === undefined ? message : { ...message, metadata: { ...message.metadata, subject: about } };
}

/** Whom a run is about: the user's newest message says so, or else the thread. */
export function subjectIn(state: AgentState): Subjects | undefined {
  const subject = subjectOfTurn(state.messages)?.subject ?? state.metadata["subject"];
  return typeof subject === "string" || Array.isArray(subject) ? (subject as Subjects) : undefined;
}

/** A run that names a person by another word than `subject` would leave what no erasure finds. */
export function warnOfOtherNames({ session, metadata, emit }: RunContext): void {
  if (subjectIn(session.state) !== undefined) return;
  const told = warnOfUnnamedPerson("run()", metadata);
  if (told !== undefined) emit({ type: "warning", where: "subject", error: new StateError("INVALID_ARGUMENT", told) });
}
