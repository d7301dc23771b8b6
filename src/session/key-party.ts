import type { Keyring } from "../sealing/keyring.ts";
import type { ErasureParty } from "./erasure-party.ts";

/**
 * The keys of people, as a participant in an erasure. It comes last: while the key
 * exists, the data that it seals can still be found and replaced. Once it is
 * destroyed, nothing about the person in any checkpoint, export or backup can be
 * opened again.
 *
 * Process state is sealed with the same key, so the key stays where that must be
 * kept.
 */
export function keyParty(keyring: Keyring, name: string): ErasureParty {
  return {
    name,
    holdsProcess: true,
    isLast: true,
    async *find(forgets) {
      for await (const people of keyring.people()) {
        const matching = people.filter(({ subject, createdAt }) => forgets(subject, createdAt));
        yield matching.map(({ token }) => ({ kind: "key", where: token, path: "key", value: undefined }));
      }
    },
    unread: () => [],
    // Whoever erases comes here only where no hold keeps what the key opens.
    held: () => [],
    async erase(places) {
      let destroyed = 0;
      for (const { where } of places) if (await keyring.destroy(where)) destroyed++;
      return destroyed;
    },
    scrub: () => keyring.scrub(),
    mark: () => keyring.mark(),
    setMark: (mark) => keyring.setMark(mark),
  };
}
