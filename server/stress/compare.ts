/** Two runs side by side: each figure with its difference, and what else differs that may explain it. */
import { endedOf, shareOf } from "./counts.ts";
import type { StressComparison, StressComparisonRow, StressReport } from "./types.ts";

interface Figure {
  readonly name: string;
  readonly unit: StressComparisonRow["unit"];
  /** Which way is better; undefined where neither is. */
  readonly better: "more" | "less" | undefined;
  readonly of: (report: StressReport) => number | null;
}

const asPercent = (share: number | null) => (share === null ? null : 100 * share);

const FIGURES: readonly Figure[] = [
  { name: "TTFP p50", unit: "ms", better: "less", of: (r) => r.percentiles.ttfpMs.p50 },
  { name: "TTFP p95", unit: "ms", better: "less", of: (r) => r.percentiles.ttfpMs.p95 },
  { name: "TTFP p99", unit: "ms", better: "less", of: (r) => r.percentiles.ttfpMs.p99 },
  {
    name: "TTFP p99, corrected",
    unit: "ms",
    better: "less",
    of: (r) => r.percentiles.ttfpCorrectedMs.p99,
  },
  { name: "RTF p50", unit: "", better: "less", of: (r) => r.percentiles.rtf.p50 },
  { name: "RTF p95", unit: "", better: "less", of: (r) => r.percentiles.rtf.p95 },
  { name: "Chunk gap p99", unit: "ms", better: "less", of: (r) => r.percentiles.gapMs.p99 },
  { name: "Sound made", unit: "×", better: "more", of: (r) => r.timesRealTime },
  { name: "Requests", unit: "1/s", better: "more", of: (r) => r.requestsPerSecond },
  { name: "Continuous at 100 ms", unit: "%", better: "more", of: (r) => asPercent(r.continuity) },
  {
    name: "Continuous at 0 ms",
    unit: "%",
    better: "more",
    of: (r) => asPercent(r.continuityStrict),
  },
  {
    name: "Refused",
    unit: "%",
    better: "less",
    of: ({ totals }) => asPercent(shareOf(totals.refused, endedOf(totals))),
  },
  {
    name: "Failed",
    unit: "%",
    better: "less",
    of: ({ totals }) => asPercent(shareOf(totals.failed, endedOf(totals))),
  },
  { name: "Knee", unit: "", better: "more", of: ({ knee }) => knee?.concurrency ?? null },
  { name: "Spoken", unit: "", better: undefined, of: ({ totals }) => totals.spoken },
  { name: "Length of the load", unit: "s", better: undefined, of: ({ seconds }) => seconds },
];

function rowOf({ name, unit, better, of }: Figure, a: StressReport, b: StressReport) {
  const [left, right] = [of(a), of(b)];
  const difference = left === null || right === null ? null : right - left;
  const isEqual = difference === null || difference === 0 || better === undefined;
  const isMore = difference !== null && difference > 0;
  const row: StressComparisonRow = {
    name,
    unit,
    a: left,
    b: right,
    difference,
    relative: difference === null || left === null || left === 0 ? null : difference / left,
    better: isEqual ? null : isMore === (better === "more") ? "b" : "a",
  };
  return row;
}

/** What differs beside the figures, by its name. */
const CONDITIONS: readonly (readonly [string, (report: StressReport) => unknown])[] = [
  ["Target", ({ plan }) => plan.target],
  ["Shape", ({ plan }) => plan.shape],
  ["Length of the plan", ({ plan }) => `${plan.seconds} s`],
  ["Texts", ({ plan }) => plan.texts.name],
  ["Voices", ({ plan }) => (plan.voices.length === 0 ? "default" : plan.voices.join(", "))],
  ["Seed", ({ plan }) => plan.seed],
  ["Limits", ({ plan }) => plan.limits],
  ["Readers in real time", ({ plan }) => plan.realTimeReaders],
  ["Server", ({ server }) => server?.version ?? null],
  ["Commit", ({ server }) => server?.commit ?? null],
  ["Model", ({ server }) => server?.model ?? null],
  ["Device", ({ server }) => server?.device ?? null],
  ["Engine", ({ server }) => server?.engine ?? null],
  ["Configuration", ({ server }) => server?.configSha256.slice(0, 12) ?? null],
  ["Generator", ({ generator }) => generator.kind],
  ["Processes of the generator", ({ generator }) => generator.processes],
  ["Machine of the generator", ({ generator }) => `${generator.agent}, ${generator.cores} cores`],
  ["End", ({ end }) => end.kind],
];

const worded = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

/** @param a the run that the other one is measured by */
export function compareReports(a: StressReport, b: StressReport): StressComparison {
  const differences = CONDITIONS.flatMap(([name, of]) => {
    const [left, right] = [worded(of(a)), worded(of(b))];
    return left === right ? [] : [`${name}: ${left} and ${right}.`];
  });
  const isSameName = a.plan.texts.name === b.plan.texts.name;
  if (isSameName && worded(a.plan.texts.items) !== worded(b.plan.texts.items)) {
    differences.push(`The texts have one name (${a.plan.texts.name}) and are not the same.`);
  }
  return { rows: FIGURES.map((figure) => rowOf(figure, a, b)), differences };
}
