/** From the books of a run to its report: steps, percentiles, the knee, and what has to be known to believe them. */
import { endedOf, shareOf } from "./counts.ts";
import type { Ledger, StepBook } from "./ledger.ts";
import { judge } from "./limits.ts";
import { NO_LANE } from "./outcome.ts";
import { isOpenLoop } from "./shape.ts";
import {
  STRESS_REPORT_VERSION,
  type StressKnee,
  type StressPlan,
  type StressReport,
  type StressStep,
} from "./types.ts";

/** A generator that is later than this, in milliseconds, measures itself. */
export const LATE_MS = 50;
/** Connections that browsers open to one host over HTTP/1.1. */
const BROWSER_CONNECTIONS = 6;
/** Requests below which a p99 is the word of one of them. */
const FEW = 100;

/** What a report is made of. */
export interface ReportParts
  extends Pick<
    StressReport,
    "id" | "plan" | "startedAt" | "server" | "generator" | "end" | "seconds"
  > {
  readonly ledger: Ledger;
  /** What a search has found; null if there was none. */
  readonly search: StressKnee | null;
  /** Known before, in sentences. */
  readonly caveats: readonly string[];
}

export function reportOf(parts: ReportParts): StressReport {
  const { ledger, search, caveats, ...known } = parts;
  const { plan, seconds } = known;
  const { totals } = ledger;
  const { counts } = totals;
  const corrected = totals.correctedTtfp(isOpenLoop(plan.shape));
  const steps = ledger.steps.map((book, index) => stepOf(book, index, plan));
  const audioSeconds = ledger.steps.reduce((sum, step) => sum + step.audioSeconds, 0);
  return {
    version: STRESS_REPORT_VERSION,
    ...known,
    totals: counts,
    timesRealTime: per(audioSeconds, seconds),
    requestsPerSecond: per(counts.spoken, seconds),
    continuity: shareOf(counts.continuous, counts.spoken),
    continuityStrict: shareOf(counts.continuousStrict, counts.spoken),
    percentiles: totals.percentiles(corrected),
    histograms: totals.histograms(corrected),
    steps,
    knee: search ?? kneeOf(plan, steps, parts),
    ticks: ledger.ticks,
    probe: plan.probe ? ledger.probe : null,
    caveats: [...caveats, ...caveatsOf(parts)],
  };
}

const per = (amount: number, seconds: number) => (seconds > 0 ? amount / seconds : 0);

function stepOf(book: StepBook, index: number, plan: StressPlan): StressStep {
  const { sums, seconds, cores, server, wanted, audioSeconds } = book;
  const { counts } = sums;
  const { met, text } = judge(plan.limits, sums);
  const mean = cores.length === 0 ? null : cores.reduce((a, b) => a + b, 0) / cores.length;
  return {
    index,
    wanted,
    seconds,
    counts,
    percentiles: sums.percentiles(sums.correctedTtfp(isOpenLoop(plan.shape))),
    timesRealTime: per(audioSeconds, seconds),
    requestsPerSecond: per(counts.spoken, seconds),
    continuity: shareOf(counts.continuous, counts.spoken),
    continuityStrict: shareOf(counts.continuousStrict, counts.spoken),
    met,
    verdict: text,
    server: server === null ? null : { ...server, cores: mean ?? server.cores },
  };
}

/** Of loads that grow under limits: the last one that met them before one did not. */
function kneeOf(
  { shape, limits }: StressPlan,
  steps: readonly StressStep[],
  { end }: ReportParts,
): StressKnee | null {
  const grows = shape.kind === "steps" || shape.kind === "levels" || shape.kind === "ramp";
  if (!grows || Object.values(limits).every((limit) => limit === undefined)) return null;
  const judged = steps.filter(({ met }) => met !== null);
  const bad = judged
    .filter(({ met }) => met === false)
    .reduce<StressStep | undefined>((a, b) => (a && a.wanted <= b.wanted ? a : b), undefined);
  const good = judged
    .filter(({ met, wanted }) => met === true && (bad === undefined || wanted < bad.wanted))
    .reduce<number | null>((most, { wanted }) => Math.max(most ?? 0, wanted), null);
  const isCrossed = bad !== undefined;
  return {
    concurrency: good,
    above: bad?.wanted ?? null,
    reason: isCrossed
      ? bad.verdict
      : end.kind === "limit"
        ? end.reason
        : "No step crossed a limit.",
  };
}

function caveatsOf({ plan, ledger, generator, end }: ReportParts): string[] {
  const { counts } = ledger.totals;
  const ended = endedOf(counts);
  const codes = (of: Readonly<Record<string, number>>) =>
    Object.entries(of)
      .map(([code, count]) => `${count} × ${code}`)
      .join(", ");
  const sentences: (string | false)[] = [
    end.kind === "stopped" &&
      "The run was stopped before its end: the figures are those until then.",
    end.kind === "limit" && `The run was ended by a limit: ${end.reason}`,
    ledger.lateTicks > 0 &&
      `The generator itself was late in ${ledger.lateTicks} of ${ledger.ticks.length} readings, by up to ` +
        `${Math.max(ledger.worstLagMs, ledger.worstBehindMs).toFixed(0)} ms: figures of that time are its own as well.`,
    counts.refused + counts.failed > 0 &&
      `The server refused ${counts.refused} of ${ended} requests and ${counts.failed} failed (${codes(counts.codes)}): ` +
        "the times are those of the requests that were spoken.",
    (counts.codes[NO_LANE] ?? 0) > 0 &&
      "Some arrivals found more requests under way than the generator may have; they count as failed.",
    counts.spoken > 0 &&
      counts.spoken < FEW &&
      `Only ${counts.spoken} requests were spoken: the p99 and what lies above it are single requests.`,
    plan.realTimeReaders &&
      "Readers were in real time: each kept its place until it had heard the end, and the server may have paced itself, so " +
        "that its real-time factor says how far ahead it may be and not how fast it is.",
    generator.kind === "server" &&
      "The load was made on the server's own machine and took part of its processor.",
    generator.kind === "browser" &&
      plan.target !== "ws" &&
      ledger.steps.some(({ wanted }) => wanted > BROWSER_CONNECTIONS) &&
      `Browsers open ${BROWSER_CONNECTIONS} connections to one host: requests beyond that waited in the browser.`,
    plan.probe &&
      ledger.probe !== null &&
      ledger.probe.runs > 0 &&
      ledger.probe.sha256 === null &&
      "This page has no hash function, since it came without TLS: samples were compared, and no hash is told.",
  ];
  return sentences.filter((sentence) => sentence !== false);
}
