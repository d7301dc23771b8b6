/** Working state, labelled checkpoints and data about people, each with a lifecycle of its own. */
export type { CheckpointOptions, FinishedRun, SessionCheckpoint, SessionTask } from "../session/agent-session.ts";
export type { UserItem } from "../session/user-store.ts";
export { AgentSession, type AgentSessionOptions, type RestoreOptions } from "../wiring/agent-session.ts";
export { UserStore, type UserStoreOptions } from "../wiring/user-store.ts";
