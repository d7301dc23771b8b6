import type { SeriesAnswer, SeriesPoint } from "../../api.ts";
import { Loading, TableFrame, Trouble } from "../parts/basics.tsx";
import { useAnswer } from "../use-answer.ts";
import { bytesText, durationText, exactTime, numberText, plural } from "../wording.ts";

interface Line {
  readonly name: string;
  readonly of: (point: SeriesPoint) => number;
}

interface Chart {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly text: (value: number) => string;
  readonly bars?: true;
}

const CHARTS: readonly Chart[] = [
  { title: "Messages", lines: [{ name: "messages", of: ({ messages }) => messages }], text: numberText },
  {
    title: "Tokens so far",
    lines: [
      { name: "input", of: ({ inputTokens = 0 }) => inputTokens },
      { name: "of them cached", of: ({ cachedTokens = 0 }) => cachedTokens },
      { name: "output", of: ({ outputTokens = 0 }) => outputTokens },
    ],
    text: numberText,
  },
  { title: "Bytes of each save", lines: [{ name: "bytes", of: ({ bytes }) => bytes }], text: bytesText, bars: true },
  { title: "What a load reads", lines: [{ name: "bytes", of: ({ loadBytes }) => loadBytes }], text: bytesText },
  { title: "Time between saves", lines: [{ name: "time", of: ({ gap }) => gap }], text: durationText, bars: true },
];

export const ChartsView = ({ thread }: { readonly thread: string }) => {
  const { answer, failure, again } = useAnswer("series", thread, {});
  if (failure !== undefined && answer === undefined) return <Trouble failure={failure} again={again} />;
  if (answer === undefined) return <Loading what="every checkpoint's numbers" />;
  return (
    <section class="panel">
      <p class="faint">
        {plural(answer.checkpoints, "checkpoint")}, oldest to newest.
        {answer.perPoint > 1 &&
          ` Each point stands for ${answer.perPoint} of them: the last of what grows, the largest of the rest.`}
      </p>
      <div class="charts">
        {CHARTS.map((chart) => (
          <ChartCard key={chart.title} chart={chart} points={answer.points} />
        ))}
      </div>
      <Tools tools={answer.tools} />
    </section>
  );
};

const [WIDTH, HEIGHT] = [360, 120];

const ChartCard = ({ chart, points }: { readonly chart: Chart; readonly points: readonly SeriesPoint[] }) => {
  const { title, lines, text, bars } = chart;
  const most = Math.max(0, ...points.flatMap((point) => lines.map((line) => line.of(point))));
  const x = (index: number): number =>
    points.length <= 1 ? WIDTH / 2 : 2 + (index / (points.length - 1)) * (WIDTH - 4);
  const y = (value: number): number => HEIGHT - (most === 0 ? 0 : (value / most) * (HEIGHT - 8)) - 1;
  const newest = points.at(-1);
  const lastOf = (line: Line): number => (newest === undefined ? 0 : line.of(newest));
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong>
        <span class="faint">
          {bars === true
            ? `at most ${text(most)}`
            : lines.map((line) => `${lines.length > 1 ? `${line.name} ` : ""}${text(lastOf(line))}`).join(" · ")}
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <path class="axis" d={`M 0 ${HEIGHT - 1} H ${WIDTH}`} />
        {lines.map((line, which) => {
          const path =
            bars === true
              ? points
                  .map((point, index) => `M ${x(index).toFixed(1)} ${HEIGHT - 1} V ${y(line.of(point)).toFixed(1)}`)
                  .join(" ")
              : points
                  .map(
                    (point, index) =>
                      `${index === 0 ? "M" : "L"} ${x(index).toFixed(1)} ${y(line.of(point)).toFixed(1)}`,
                  )
                  .join(" ");
          return (
            <path
              key={line.name}
              class={`line line-${which} ${bars === true ? "bars" : ""}`}
              d={points.length === 1 ? `${path} h 0.01` : path}
            />
          );
        })}
      </svg>
      <details>
        <summary>As a table</summary>
        <TableFrame label={`${title} as a table`} kind="short">
          <table>
            <thead>
              <tr>
                <th scope="col">Saved</th>
                {lines.map((line) => (
                  <th key={line.name} scope="col" class="number">
                    {line.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {points
                .slice(-60)
                .toReversed()
                .map((point, index) => (
                  <tr key={index}>
                    <td class="nowrap">{exactTime(point.at)}</td>
                    {lines.map((line) => (
                      <td key={line.name} class="number">
                        {text(line.of(point))}
                      </td>
                    ))}
                  </tr>
                ))}
            </tbody>
          </table>
        </TableFrame>
      </details>
    </figure>
  );
};

const Tools = ({ tools }: { readonly tools: SeriesAnswer["tools"] }) =>
  tools.length === 0 ? null : (
    <>
      <h2>Tools</h2>
      <TableFrame label="Tools">
        <table>
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col" class="number">
                Calls
              </th>
              <th scope="col" class="number">
                Failed or in doubt
              </th>
              <th scope="col" class="number">
                Usually took
              </th>
              <th scope="col" class="number">
                At most
              </th>
            </tr>
          </thead>
          <tbody>
            {tools.map(({ name, calls, failed, medianMs, slowestMs }) => (
              <tr key={name}>
                <td>
                  <code class="tool-name">{name}</code>
                </td>
                <td class="number">{numberText(calls)}</td>
                <td class="number">{numberText(failed)}</td>
                <td class="number">{medianMs === undefined ? "" : durationText(medianMs)}</td>
                <td class="number">{slowestMs === undefined ? "" : durationText(slowestMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
    </>
  );
