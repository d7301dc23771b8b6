import type { Keyring } from "../sealing/keys/keyring.ts";
import { type ErasureParty, HeldTally } from "./erasure-party.ts";

/**
 * The keys of people, as a participant in an erasure. It comes last: while the key
 * exists, the data that it seals can still be found and replaced. Once it is
 * destroyed, nothing about the person in any checkpoint, export or backup can be
 * opened again.
 *
 * A key stays while its person is under a hold, even one that is placed while the key
 * is about to be destroyed. For holds on others, an erasure comes here only where no
 * hold keeps what the key opens.
 *
 * Process state is sealed with the same key, so the key stays where that must be kept.
 */
export function keyParty(keyring: Keyring, name: string): ErasureParty {
  const held = new HeldTally(name);
  return {
    name,
    holdsProcess: true,
    isLast: true,
    async *find(forgets, warnings, readHolds) {
      held.clear();
      for await (const people of keyring.people((error) => warnings.note(error, undefined))) {
        const matching = people.filter(({ subject, createdAt }) => forgets(subject, createdAt));
        const holds = matching.length === 0 ? undefined : await readHolds?.();
        yield matching.flatMap(({ token, subject }) => {
          const hold = holds?.onPerson(subject);
          if (hold !== undefined) held.add(hold, 1);
          return hold === undefined ? [{ kind: "key", where: token, path: "key", value: undefined }] : [];
        });
      }
    },
    unread: () => [],
    held: () => held.list,
    async erase(places, _forgets, readHolds) {
      let destroyed = 0;
      // The next look counts those that are held.
      const isHeld = async (subject: string): Promise<boolean> => (await readHolds()).onPerson(subject) !== undefined;
      for (const { where } of places) if (await keyring.destroy(where, isHeld)) destroyed++;
      return destroyed;
    },
    holdPlaced: (subject) => keyring.renewPerson(subject),
    scrub: () => keyring.scrub(),
    mark: () => keyring.mark(),
    setMark: (mark) => keyring.setMark(mark),
  };
}
