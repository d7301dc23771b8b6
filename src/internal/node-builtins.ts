type NodeCrypto = typeof import("node:crypto");

let loaded: NodeCrypto | undefined;

/**
 * Node's cryptography, loaded with its first use. An import statement would make every program wait for it that
 * imports this package.
 */
export function nodeCrypto(): NodeCrypto {
  loaded ??= process.getBuiltinModule("node:crypto");
  return loaded;
}

let check: ((value: unknown) => boolean) | undefined;

/** Node has `node:util` loaded. To import it takes longer all the same: all of its parts are gathered for that. */
export function isProxy(value: unknown): boolean {
  check ??= process.getBuiltinModule("node:util").types.isProxy;
  return check(value);
}
