/** The figures of the status page: which they are, how each is read off a tick, and how it is written. Pure. */
import type { StatusTick } from "../../server/protocol/playground.ts";
import { fill } from "../i18n/format.ts";
import type { Strings } from "../i18n/strings.ts";
import type { Figure } from "./series.ts";

type Words = Strings["status"];

export interface Gauge {
  readonly id: string;
  readonly name: string;
  readonly about: string;
  readonly figure: Figure;
  /** A value of the figure, with its unit. */
  readonly format: (value: number) => string;
  /** What stands large; the formatted figure if absent. */
  readonly value?: (tick: StatusTick) => string;
  /** A second figure beside it. */
  readonly note?: (tick: StatusTick) => string | undefined;
  /** Why there is no figure; that nothing was measured if absent. */
  readonly none?: string;
}

/** Whom nobody hears in real time begins a day ahead (`server/speech/unit.ts`); nobody who listens has half of that. */
const UNHEARD_MS = 43_200_000;

/** Milliseconds of sound in a frame, until the server has said. */
const USUAL_FRAME_MS = 80;
const MEGABYTE = 1e6;

const share = (part: number, whole: number) => (whole === 0 ? undefined : (100 * part) / whole);
/** Figures over no requests are 0 on the wire, and say nothing. */
const measured = (value: number) => (value > 0 ? value : undefined);

/**
 * @param units words of units, in the reader's language
 * @param frameMs sound in a frame
 */
export function gaugesFor(
  words: Words,
  units: Strings["common"]["units"],
  frameMs = USUAL_FRAME_MS,
): readonly Gauge[] {
  const { gauges } = words;
  const ms = (value: number) =>
    fill(units.ms, { n: value < 10 ? value.toFixed(1) : Math.round(value) });
  const plain = (value: number) => String(Math.round(value * 10) / 10);
  const percent = (value: number) => fill(words.units.percent, { n: plain(value) });
  const megabytes = (value: number) => fill(words.units.mb, { n: Math.round(value / MEGABYTE) });
  return [
    {
      id: "speaking",
      name: gauges.speaking,
      about: gauges.speakingAbout,
      figure: (tick) => tick.active,
      format: plain,
      value: ({ active, capacity }) => fill(gauges.speakingValue, { active, capacity }),
    },
    {
      id: "waiting",
      name: gauges.waiting,
      about: gauges.waitingAbout,
      figure: (tick) => tick.waiting,
      format: plain,
      note: ({ expected_wait_ms }) =>
        fill(gauges.waitingNote, { ms: Math.round(expected_wait_ms) }),
    },
    {
      id: "ttfp",
      name: gauges.ttfp,
      about: gauges.ttfpAbout,
      figure: (tick) => measured(tick.ttfa_p95_ms),
      format: ms,
      note: ({ ttfa_p50_ms }) =>
        ttfa_p50_ms > 0 ? fill(gauges.ttfpNote, { ms: Math.round(ttfa_p50_ms) }) : undefined,
    },
    {
      id: "rtf",
      name: gauges.rtf,
      about: gauges.rtfAbout,
      figure: (tick) => measured(tick.rtf_p50),
      format: (value) => value.toFixed(2),
      note: ({ rtf_p50 }) =>
        rtf_p50 > 0 ? fill(gauges.rtfNote, { n: plain(1 / rtf_p50) }) : undefined,
    },
    {
      id: "frames",
      name: gauges.frames,
      about: gauges.framesAbout,
      figure: (tick) => tick.frames_per_second,
      format: plain,
      note: ({ frames_per_second }) =>
        fill(gauges.framesNote, { n: plain((frames_per_second * frameMs) / 1000) }),
    },
    {
      id: "continuity",
      name: gauges.continuity,
      about: gauges.continuityAbout,
      figure: (tick) => share(tick.streams_continuous, tick.streams),
      format: percent,
      note: ({ streams, streams_continuous, underruns }) =>
        streams === 0
          ? undefined
          : fill(gauges.continuityNote, { ok: streams_continuous, all: streams, late: underruns }),
    },
    {
      id: "load",
      name: gauges.load,
      about: gauges.loadAbout,
      figure: ({ active, tick_ms }) => (active === 0 ? undefined : share(tick_ms, frameMs)),
      format: percent,
      none: gauges.loadNone,
      note: ({ active, lead_ms_min, yields }) => {
        if (active === 0) return undefined;
        if (lead_ms_min >= UNHEARD_MS) return gauges.loadUnheard;
        return fill(gauges.loadNote, { lead: Math.max(0, Math.round(lead_ms_min)), yields });
      },
    },
    {
      id: "cache",
      name: gauges.cache,
      about: gauges.cacheAbout,
      figure: ({ voice_cache_hits: hits, voice_cache_misses: misses }) =>
        share(hits, hits + misses),
      format: percent,
      note: ({ voice_cache_hits: hits, voice_cache_misses: misses }) =>
        fill(gauges.cacheNote, { hits, all: hits + misses }),
    },
    {
      id: "loop",
      name: gauges.loop,
      about: gauges.loopAbout,
      figure: (tick) => tick.event_loop_p99_ms,
      format: ms,
    },
    {
      id: "memory",
      name: gauges.memory,
      about: gauges.memoryAbout,
      figure: (tick) => tick.resident_bytes,
      format: megabytes,
      note: ({ engine_bytes }) =>
        fill(gauges.memoryNote, { mb: Math.round(engine_bytes / MEGABYTE) }),
    },
    {
      id: "pages",
      name: gauges.pages,
      about: gauges.pagesAbout,
      figure: (tick) => tick.sockets,
      format: plain,
    },
  ];
}

/** A length of time in its two largest units. @param seconds 0 or more */
export function durationText(seconds: number, words: Words["units"]): string {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 24) return fill(words.days, { d: Math.floor(hours / 24), h: hours % 24 });
  if (hours > 0) return fill(words.hours, { h: hours, m: minutes % 60 });
  return fill(words.minutes, { m: minutes, s: Math.floor(seconds % 60) });
}
