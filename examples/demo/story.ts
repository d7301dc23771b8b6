import { join } from "node:path";

/** What all processes of the demo agree on. They share nothing else but the folder. */
export const THREAD_ID = "checkout-api-p99";
export const INCIDENT = "p99 on checkout-api spiked at 14:02. The deploy at 13:58 looks suspicious.";
export const QUESTION = "Has anything like that happened in the last fortnight?";

export const storePath = (folder: string): string => join(folder, "agents.db");
