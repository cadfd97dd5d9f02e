/** Which charts a run has over time: their lines, how values are read off a tick, and how they are written. Pure. */
import type { StressPlan, StressTickRecord } from "../../server/stress/types.ts";
import type { Strings } from "../i18n/strings.ts";
import type { Writers } from "./figures.ts";
import type { PlotMark } from "./plot.tsx";
import type { Reading } from "./series.ts";

interface LineSpec {
  readonly label: string;
  readonly reading: Reading<StressTickRecord>;
  readonly color: string;
  readonly dash?: readonly number[];
  readonly isStepped?: boolean;
  readonly spansGaps?: boolean;
}

export interface ChartSpec {
  readonly id: string;
  readonly title: string;
  readonly lines: readonly LineSpec[];
  readonly marks: readonly PlotMark[];
  readonly format: (value: number) => string;
  readonly top?: number;
}

/** Strokes of the second and the third line of a chart. */
const DASHED = [8, 4];
const DOTTED = [2, 3];

const limitAt = (label: string, value: number | undefined): PlotMark[] =>
  value === undefined ? [] : [{ axis: "y", value, label, color: "--bad" }];

/** @param plan undefined while it is not known; then there are no limits */
export function chartSpecs(
  words: Strings["stress"]["charts"],
  { ms, plain, times, percent }: Writers,
  plan: StressPlan | undefined,
): readonly ChartSpec[] {
  const limits = plan?.limits ?? {};
  const isRate = plan?.shape.kind === "poisson";
  const wave = { color: "--wave" };
  const second = { color: "--warn", dash: DASHED };
  const third = { color: "--bad", dash: DOTTED };
  const spansGaps = true;
  return [
    {
      id: "concurrency",
      title: words.concurrency,
      format: plain,
      marks: [],
      lines: [
        { ...wave, label: words.active, reading: ({ active }) => active },
        {
          color: "--muted",
          dash: DASHED,
          isStepped: true,
          label: isRate ? words.wantedRate : words.wanted,
          reading: ({ wanted }) => wanted,
        },
      ],
    },
    {
      id: "ttfp",
      title: words.ttfp,
      format: ms,
      marks: limitAt(words.limit, limits.ttfpP95Ms),
      lines: [
        { ...wave, spansGaps, label: words.p50, reading: ({ ttfpMs }) => ttfpMs.p50 },
        { ...second, spansGaps, label: words.p95, reading: ({ ttfpMs }) => ttfpMs.p95 },
        { ...third, spansGaps, label: words.p99, reading: ({ ttfpMs }) => ttfpMs.p99 },
      ],
    },
    {
      id: "rtf",
      title: words.rtf,
      format: plain,
      marks: [{ axis: "y", value: 1, label: words.realTime, color: "--muted" }],
      lines: [
        { ...wave, spansGaps, label: words.p50, reading: ({ rtf }) => rtf.p50 },
        { ...second, spansGaps, label: words.p95, reading: ({ rtf }) => rtf.p95 },
      ],
    },
    {
      id: "speed",
      title: words.speed,
      format: times,
      marks: [],
      lines: [{ ...wave, label: words.times, reading: ({ timesRealTime }) => timesRealTime }],
    },
    {
      id: "continuity",
      title: words.continuity,
      format: percent,
      top: 1.02,
      marks: limitAt(words.limit, limits.continuity),
      lines: [
        { ...wave, spansGaps, label: words.gap100, reading: ({ continuity }) => continuity },
        { ...second, spansGaps, label: words.strict, reading: (tick) => tick.continuityStrict },
      ],
    },
    {
      id: "refusals",
      title: words.refusals,
      format: plain,
      marks: [],
      lines: [
        { ...second, isStepped: true, label: words.refused, reading: ({ refused }) => refused },
        { ...third, isStepped: true, label: words.failed, reading: ({ failed }) => failed },
      ],
    },
    {
      id: "queue",
      title: words.queue,
      format: plain,
      marks: [],
      lines: [
        { ...wave, label: words.speaking, reading: ({ server }) => server?.active },
        { ...second, label: words.queued, reading: ({ server }) => server?.queue },
        {
          color: "--muted",
          dash: DOTTED,
          label: words.capacity,
          reading: ({ server }) => server?.capacity,
        },
      ],
    },
    {
      id: "load",
      title: words.load,
      format: plain,
      marks: [],
      lines: [{ ...wave, spansGaps, label: words.cores, reading: ({ server }) => server?.cores }],
    },
  ];
}
