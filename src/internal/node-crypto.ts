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
