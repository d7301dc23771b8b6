/** Under which the metadata of a sub-agent's thread names the call that it works for. */
export const PARENT_KEY = "holdfast.parent";

export interface ParentCall {
  readonly threadId: string;
  readonly toolCallId: string;
}

/** Whom a thread works for; `undefined` where it is nobody's child. */
export function parentOf(metadata: Readonly<Record<string, unknown>> | undefined): ParentCall | undefined {
  const parent = metadata?.[PARENT_KEY] as Partial<ParentCall> | undefined;
  const { threadId, toolCallId } = parent ?? {};
  return typeof threadId === "string" && typeof toolCallId === "string" ? { threadId, toolCallId } : undefined;
}
