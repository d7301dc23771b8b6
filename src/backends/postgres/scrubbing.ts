/** How to remove what a server keeps of replaced rows. It takes locks and rights that an application should not have. */
export const DEAD_ROWS: readonly string[] = [
  "dead rows in the tables' files until VACUUM FULL of these tables, which locks them",
  "samples of the columns in pg_statistic, which autovacuum takes, until ANALYZE of these tables and then VACUUM FULL of pg_statistic",
  "the write-ahead log until its segments are recycled and overwritten, and its archive and standbys",
];
