/** What the load test has found, as a table for people and as a document for programs. */
import type { Figures } from "./bench-server-figures.ts";
import type { DoorName } from "./bench-server-options.ts";

/** One step of the test. */
export interface Step {
  readonly door: DoorName;
  readonly load:
    | { readonly kind: "closed"; readonly concurrency: number }
    | { readonly kind: "poisson"; readonly perSecond: number };
  readonly figures: Figures;
  /** The server's share of one core while it lasted, and its memory after it; undefined if it does not tell. */
  readonly server: { readonly cores: number; readonly residentMb: number } | undefined;
}

export interface Report {
  readonly machine: { readonly processor: string; readonly cores: number };
  /** Load average of the last minute before the test began; above the number of idle cores it spoils the figures. */
  readonly loadBefore: number;
  /** ISO date. */
  readonly date: string;
  readonly command: string;
  readonly server: {
    readonly version: string;
    readonly model: string;
    readonly device: string;
    /** Instruction set and threads, or the GPU, with the precision; undefined if it does not tell. */
    readonly engine: string | undefined;
  };
  readonly seconds: number;
  readonly steps: readonly Step[];
}

/** How a step's load is named. */
export function loadName({ load }: Pick<Step, "load">): string {
  return load.kind === "closed" ? `${load.concurrency} at once` : `${load.perSecond} a second`;
}

const number = (value: number | undefined, digits = 0) =>
  value === undefined ? "-" : value.toFixed(digits);

const COLUMNS: readonly (readonly [string, (step: Step) => string])[] = [
  ["door", ({ door }) => door],
  ["load", (step) => loadName(step)],
  ["spoken", ({ figures }) => String(figures.spoken)],
  ["refused", ({ figures }) => String(figures.refused)],
  ["failed", ({ figures }) => String(figures.failed)],
  ["TTFP p50, ms", ({ figures }) => number(figures.ttfpMs.p50, 1)],
  ["p95", ({ figures }) => number(figures.ttfpMs.p95, 1)],
  ["p99", ({ figures }) => number(figures.ttfpMs.p99, 1)],
  ["RTF p50", ({ figures }) => number(figures.rtf.p50, 3)],
  ["p95", ({ figures }) => number(figures.rtf.p95, 3)],
  ["chunk gap p99, ms", ({ figures }) => number(figures.gapMs.p99)],
  ["audio s/s", ({ figures }) => number(figures.audioPerSecond, 2)],
  ["continuous", ({ figures }) => `${number(100 * figures.continuous, 1)} %`],
  ["underruns", ({ figures }) => String(figures.underruns)],
  ["longest, ms", ({ figures }) => number(figures.longestShortfallMs)],
  ["cores", ({ server }) => number(server?.cores, 2)],
  ["memory, MB", ({ server }) => number(server?.residentMb)],
];

/** A table in Markdown whose columns line up. */
export function stepsTable(steps: readonly Step[]): string {
  const rows = steps.map((step) => COLUMNS.map(([, cell]) => cell(step)));
  const titles = COLUMNS.map(([title]) => title);
  const widths = titles.map((title, i) =>
    Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)),
  );
  const isText = (i: number) => i < 2;
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => (isText(i) ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(" | ")} |`;
  const rule = widths.map((width, i) =>
    isText(i) ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  return [line(titles), line(rule), ...rows.map(line)].join("\n");
}

/** Everything for people: where it was measured, the table, and what went wrong. */
export function reportText({ machine, date, server, loadBefore, steps, seconds }: Report): string {
  const about =
    `${server.model} on ${server.device}${server.engine === undefined ? "" : ` (${server.engine})`}, Sonant ${server.version}; ${machine.processor}, ` +
    `${machine.cores} cores, load average ${loadBefore.toFixed(1)} before; ${date}; ${seconds} s a step`;
  const problems = steps.flatMap((step) =>
    Object.entries(step.figures.codes).map(
      ([code, count]) => `${step.door}, ${loadName(step)}: ${count} times ${code}`,
    ),
  );
  return [about, "", stepsTable(steps), ...(problems.length > 0 ? ["", ...problems] : [])].join(
    "\n",
  );
}
