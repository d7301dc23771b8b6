/** How to remove what a server keeps of replaced rows. It takes locks and rights that an application should not have. */
export const DEAD_ROWS: readonly string[] = [
  "dead rows in the tables' files until VACUUM FULL of these tables, which locks them",
  "the write-ahead log until its segments are recycled and overwritten, and its archive and standbys",
];
