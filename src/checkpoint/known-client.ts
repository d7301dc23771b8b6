/** A client that people mistake for a checkpointer, recognised by its methods. */
export interface KnownClient {
  /** "a Redis client" */
  readonly what: string;
  /** The call that takes such a client. */
  readonly instead: string;
  /** All methods of any one list must be there. */
  readonly methods: readonly (readonly string[])[];
  /** Methods that only other clients have. */
  readonly without?: readonly string[];
  /** Properties that are objects. */
  readonly objects?: readonly string[];
}
