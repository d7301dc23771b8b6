/** A client that is taken for a checkpointer, known by its methods. */
export interface KnownClient {
  /** "a Redis client" */
  readonly what: string;
  /** The call that takes it. */
  readonly instead: string;
  /** All of the methods in any of the lists. */
  readonly methods: readonly (readonly string[])[];
  /** Methods that only others have. */
  readonly without?: readonly string[];
  /** Properties that are objects. */
  readonly objects?: readonly string[];
}
