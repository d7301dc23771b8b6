let check: ((value: unknown) => boolean) | undefined;

/** Node has `node:util` loaded. To import it takes longer all the same: all of its parts are gathered for that. */
export function isProxy(value: unknown): boolean {
  check ??= process.getBuiltinModule("node:util").types.isProxy;
  return check(value);
}
