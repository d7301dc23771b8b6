import { StateError } from "../errors.ts";

/** A model's failure, and whether asking again may help. */
export class ModelError extends StateError {
  override readonly retryable: boolean;
  /** How long the provider asks to wait, if it said so. */
  readonly retryAfterMs: number | undefined;
  /** The provider's HTTP status, where there was one. */
  readonly status: number | undefined;

  constructor(
    message: string,
    options: {
      readonly retryable: boolean;
      readonly retryAfterMs?: number;
      readonly status?: number;
      readonly cause?: unknown;
    },
  ) {
    super("MODEL_FAILED", message, { cause: options.cause });
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs;
    this.status = options.status;
  }
}
