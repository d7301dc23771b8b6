import type { DownloadFile } from "./files.ts";
import type { AiSdkModel, Specification } from "./specification.ts";

/** Whom a prompt is written for. */
export interface PromptContext {
  /** For messages: "openai:gpt-5". */
  readonly id: string;
  readonly model: AiSdkModel;
  readonly version: Specification;
  readonly download: DownloadFile | undefined;
  readonly signal: AbortSignal | undefined;
}
