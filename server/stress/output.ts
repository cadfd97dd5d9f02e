/** A report for people (Markdown), for tables (CSV) and for programs (JSON), and back from JSON. */
import { repeatCommand } from "./command-line.ts";
import { csvOf, markdownTable } from "./table.ts";
import {
  STRESS_REPORT_VERSION,
  type StressPercentiles,
  type StressPlan,
  type StressReport,
  type StressStep,
} from "./types.ts";

const number = (value: number | null | undefined, digits = 0) =>
  value === null || value === undefined ? "-" : value.toFixed(digits);
const percent = (share: number | null) => (share === null ? "-" : `${(100 * share).toFixed(1)} %`);

/** How much load a step had, in words. */
export function loadName({ wanted }: Pick<StressStep, "wanted">, { shape }: StressPlan): string {
  return shape.kind === "poisson" ? `${wanted} a second` : `${wanted} at once`;
}

type Column = readonly [string, (step: StressStep, plan: StressPlan) => string];

const COLUMNS: readonly Column[] = [
  ["load", loadName],
  ["spoken", ({ counts }) => String(counts.spoken)],
  ["refused", ({ counts }) => String(counts.refused)],
  ["failed", ({ counts }) => String(counts.failed)],
  ["TTFP p50, ms", ({ percentiles }) => number(percentiles.ttfpMs.p50, 1)],
  ["p95", ({ percentiles }) => number(percentiles.ttfpMs.p95, 1)],
  ["p99", ({ percentiles }) => number(percentiles.ttfpMs.p99, 1)],
  ["p99 corrected", ({ percentiles }) => number(percentiles.ttfpCorrectedMs.p99, 1)],
  ["RTF p50", ({ percentiles }) => number(percentiles.rtf.p50, 3)],
  ["p95", ({ percentiles }) => number(percentiles.rtf.p95, 3)],
  ["chunk gap p99, ms", ({ percentiles }) => number(percentiles.gapMs.p99)],
  ["audio s/s", ({ timesRealTime }) => number(timesRealTime, 2)],
  ["continuous", ({ continuity }) => percent(continuity)],
  ["at 0 ms", ({ continuityStrict }) => percent(continuityStrict)],
  ["longest, ms", ({ counts }) => number(counts.longestShortfallMs)],
  ["cores", ({ server }) => number(server?.cores, 2)],
  ["memory, MB", ({ server }) => number(server?.residentMb)],
];

/** One row a step, in columns that line up. */
export function stepsTable({ steps, plan }: StressReport): string {
  return markdownTable(
    COLUMNS.map(([title]) => title),
    steps.map((step) => COLUMNS.map(([, cell]) => cell(step, plan))),
  );
}

const MEASURES = [
  ["TTFP, ms", "ttfpMs", 1],
  ["TTFP corrected, ms", "ttfpCorrectedMs", 1],
  ["whole request, ms", "totalMs", 0],
  ["RTF", "rtf", 3],
  ["chunk gap, ms", "gapMs", 1],
] as const;
const PLACES = ["p50", "p75", "p90", "p95", "p99", "p999", "max"] as const;

function percentilesTable({ percentiles }: StressReport): string {
  return markdownTable(
    ["", ...PLACES.map((place) => (place === "p999" ? "p99.9" : place)), "values"],
    MEASURES.map(([title, name, digits]) => {
      const values: StressPercentiles = percentiles[name];
      const cells = PLACES.map((place) => number(values[place], digits));
      return [title, ...cells, String(values.count)];
    }),
  );
}

function probeLine({ probe }: StressReport): string[] {
  if (probe === null) return [];
  const hash = probe.sha256 === null ? "" : ` SHA-256 of the samples: ${probe.sha256}.`;
  const first = probe.firstDifference;
  const difference =
    first === null
      ? ""
      : ` Repetition ${first.run} parts at byte ${first.byte} (${first.bytes} bytes, alone ${first.expectedBytes}).`;
  const unanswered = probe.unanswered === 0 ? "" : ` ${probe.unanswered} were not answered.`;
  return [
    `Probe (seed ${probe.seed}): ${probe.equal} of ${probe.runs} repetitions among the load were equal to the byte.` +
      `${difference}${unanswered}${hash}`,
  ];
}

function about({ server, generator, startedAt, plan, seconds }: StressReport): string {
  const engine = server?.engine === null || server === null ? "" : ` (${server.engine})`;
  const what =
    server === null
      ? "A server that did not answer"
      : `${server.model} on ${server.device}${engine}, Sonant ${server.version}`;
  const processes = generator.processes === 1 ? "1 process" : `${generator.processes} processes`;
  return (
    `${what}; target ${plan.target}, texts '${plan.texts.name}', ` +
    `voices ${plan.voices.length === 0 ? "by default" : plan.voices.join(", ")}, ${plan.warmup} requests of warm-up not counted; ` +
    `load from ${generator.kind} (${processes}; ${generator.agent}, ${generator.cores} cores); ${startedAt}, ${seconds.toFixed(1)} s.`
  );
}

/** Everything for people. @param baseUrl for the line that repeats the run; empty: a server that the command starts */
export function reportMarkdown(report: StressReport, baseUrl = ""): string {
  const { end, knee, caveats, plan, totals } = report;
  const codes = Object.entries(totals.codes).map(([code, count]) => `- ${count} × ${code}`);
  const sections = [
    `# Load test ${report.id}`,
    about(report),
    `${end.reason} (${end.kind})`,
    report.steps.length > 0 ? stepsTable(report) : "",
    percentilesTable(report),
    knee === null
      ? ""
      : `Knee: ${knee.concurrency === null ? "none" : `${knee.concurrency} at once`}. ${knee.reason}`,
    ...probeLine(report),
    codes.length > 0 ? `Not spoken:\n\n${codes.join("\n")}` : "",
    caveats.length > 0
      ? `To be known:\n\n${caveats.map((caveat) => `- ${caveat}`).join("\n")}`
      : "",
    `Again: \`${repeatCommand(plan, baseUrl)}\``,
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

const STEP_FIELDS: readonly (readonly [string, (step: StressStep) => unknown])[] = [
  ["step", ({ index }) => index],
  ["wanted", ({ wanted }) => wanted],
  ["seconds", ({ seconds }) => seconds],
  ["begun", ({ counts }) => counts.begun],
  ["spoken", ({ counts }) => counts.spoken],
  ["refused", ({ counts }) => counts.refused],
  ["failed", ({ counts }) => counts.failed],
  ["stopped", ({ counts }) => counts.stopped],
  ...MEASURES.flatMap(([, name]) =>
    (["count", "mean", ...PLACES] as const).map(
      (place) => [`${name}_${place}`, (step: StressStep) => step.percentiles[name][place]] as const,
    ),
  ),
  ["times_real_time", ({ timesRealTime }) => timesRealTime],
  ["requests_per_second", ({ requestsPerSecond }) => requestsPerSecond],
  ["continuity_100ms", ({ continuity }) => continuity],
  ["continuity_0ms", ({ continuityStrict }) => continuityStrict],
  ["underruns", ({ counts }) => counts.underruns],
  ["longest_shortfall_ms", ({ counts }) => counts.longestShortfallMs],
  ["met", ({ met }) => met],
  ["verdict", ({ verdict }) => verdict],
  ["server_cores", ({ server }) => server?.cores],
  ["server_resident_mb", ({ server }) => server?.residentMb],
];

/** One row a step, with everything that was measured of it (RFC 4180). */
export function reportCsv({ id, steps }: StressReport): string {
  return csvOf(
    ["run", ...STEP_FIELDS.map(([name]) => name)],
    steps.map((step) => [id, ...STEP_FIELDS.map(([, value]) => value(step))]),
  );
}

/** One row a tick: the course of the run. */
export function ticksCsv({ id, ticks }: StressReport): string {
  const titles = [
    ...[
      "run",
      "at_s",
      "step",
      "phase",
      "wanted",
      "active",
      "ttfp_p50_ms",
      "ttfp_p95_ms",
      "ttfp_p99_ms",
    ],
    ...["rtf_p50", "times_real_time", "continuity_100ms", "continuity_0ms", "refused", "failed"],
    ...["generator_lag_ms", "generator_behind_ms", "server_active", "server_queue", "server_cores"],
  ];
  return csvOf(
    titles,
    ticks.map((t) => [
      ...[id, t.at, t.step, t.phase, t.wanted, t.active, t.ttfpMs.p50, t.ttfpMs.p95, t.ttfpMs.p99],
      ...[t.rtf.p50, t.timesRealTime, t.continuity, t.continuityStrict, t.refused, t.failed],
      ...[t.generator.lagMs, t.generator.behindMs],
      ...[t.server?.active, t.server?.queue, t.server?.cores],
    ]),
  );
}

export function reportJson(report: StressReport): string {
  return `${JSON.stringify(report, null, 2)}\n`;
}

/**
 * Reads a report that was kept.
 * @throws Error with a sentence if it is none, or one of another version
 */
export function parseReport(text: string): StressReport {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error("This is not a report of a load test: it is not JSON.", { cause: error });
  }
  const report = value as Partial<StressReport> | null;
  const needed = ["id", "plan", "generator", "end", "totals", "percentiles", "histograms", "steps"];
  const missing = needed.find(
    (key) => typeof report !== "object" || report === null || !(key in report),
  );
  if (missing !== undefined) {
    throw new Error(`This is not a report of a load test: it has no '${missing}'.`);
  }
  if (report?.version !== STRESS_REPORT_VERSION) {
    throw new Error(
      `The report has version ${report?.version}; version ${STRESS_REPORT_VERSION} can be read here.`,
    );
  }
  return report as StressReport;
}
