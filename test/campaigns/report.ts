/** One line for people: what was proven, and the figures of this run. */
export function reportCampaign(
  name: string,
  began: number,
  proven: string,
  figures: Readonly<Record<string, number>>,
): void {
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  const counted = Object.entries(figures).map(([what, count]) => `${count} ${what}`);
  console.log(`CAMPAIGN ${name}: ${[proven, ...counted].join("; ")} (${seconds} s)`);
}
