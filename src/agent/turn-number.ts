import type { AgentState } from "../state/agent-state.ts";
import { isRepairRequest } from "./repair-request.ts";

/** How often users said something: which turn of the thread is the last. */
export const turnOf = ({ messages }: Pick<AgentState, "messages">): number =>
  messages.filter((message) => message.role === "user" && !isRepairRequest(message)).length;
