export const secondsSince = (began: number): string => ((performance.now() - began) / 1000).toFixed(0);

/** One line for people: what was proven, and the figures of this run. */
export function reportCampaign(
  name: string,
  began: number,
  proven: string,
  figures: Readonly<Record<string, number>>,
): void {
  const counted = Object.entries(figures).map(([what, count]) => `${count} ${what}`);
  console.log(`CAMPAIGN ${name}: ${[proven, ...counted].join("; ")} (${secondsSince(began)} s)`);
}

const REPORT_EVERY = 1000;

/** How far a long run is: one that is ended before its end has shown so much. */
export function reportProgress(name: string, began: number, operation: number): void {
  if (operation === 0 || operation % REPORT_EVERY !== 0) return;
  console.log(`${name}: ${operation} operations in ${secondsSince(began)} s`);
}
