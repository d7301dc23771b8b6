import type { Keyring } from "../sealing/keyring.ts";
import type { ErasureParty } from "./erasure-party.ts";

/**
 * The keys of people, as a part of an erasure. It comes last: while the key is
 * there, what it seals can still be found and replaced. When it is gone, nothing
 * that any checkpoint, export or backup holds of the person opens again.
 *
 * Process state is sealed with it, too, so it stays where that is to be kept.
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
