import { type ErrorCode, StateError } from "../../errors.ts";

/** A request that is refused for its own fault. Unlike a failure of the storage, its words may be shown to the client. */
export class Refusal extends StateError {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(code, message);
    this.status = options.status;
    this.headers = options.headers ?? {};
  }
}

/** Checks that the library makes of its caller's arguments; here they are about a request. */
export function asRefusal<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw StateError.is(error) ? new Refusal(error.code, error.message) : error;
  }
}
