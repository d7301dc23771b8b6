/**
 * A client in this process learns within two turns of the loop that its connection was closed. Before that its pool
 * would use the dead connection again for the next server that happens to get the same port. A test that closes a
 * server waits for this.
 */
export async function noticedByClients(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
