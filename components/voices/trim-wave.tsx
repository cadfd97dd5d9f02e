/** The waveform of a recording with the stretch that is kept as a region. Loaded when there is something to trim. */
"use client";
import { useEffect, useRef } from "react";
import WaveSurfer from "wavesurfer.js";
import RegionsPlugin, { type Region } from "wavesurfer.js/dist/plugins/regions.esm.js";
import type { Range } from "../audio/doctor-measure.ts";
import type { TakeAudio } from "../audio/take-audio.ts";
import { envelopeOf } from "../playground/envelope.ts";
import { setRange, useDraft } from "./draft.ts";
import { heardSeconds } from "./listening.ts";
import { SHORTEST_SECONDS } from "./treatment.ts";

const COLUMNS = 1200;
const HEIGHT = 110;
/** The region is left alone where it differs by rounding only, in seconds. */
const ROUNDING_SECONDS = 0.002;

interface TrimWaveProps {
  readonly sound: TakeAudio;
  readonly range: Range;
  readonly label: string;
}

export function TrimWave({ sound, range, label }: TrimWaveProps) {
  const holder = useRef<HTMLDivElement>(null);
  const wave = useRef<WaveSurfer>(undefined);
  const region = useRef<Region>(undefined);

  useEffect(() => {
    const container = holder.current;
    if (container === null) return;
    const style = getComputedStyle(container);
    const regions = RegionsPlugin.create();
    const made = WaveSurfer.create({
      container,
      height: HEIGHT,
      waveColor: style.getPropertyValue("--wave"),
      progressColor: style.getPropertyValue("--wave"),
      cursorColor: style.getPropertyValue("--ink"),
      cursorWidth: 2,
      peaks: [envelopeOf(sound, COLUMNS)],
      duration: Math.max(0.01, sound.seconds),
      normalize: true,
      interact: false,
      plugins: [regions],
    });
    wave.current = made;
    made.once("ready", () => {
      const { start, end } = useDraft.getState().treatment.range;
      const kept = regions.addRegion({
        start,
        end,
        minLength: Math.min(SHORTEST_SECONDS, sound.seconds),
        color: "color-mix(in srgb, var(--accent) 24%, transparent)",
      });
      region.current = kept;
      kept.on("update", () => setRange({ start: kept.start, end: kept.end }));
    });
    return () => {
      made.destroy();
      wave.current = undefined;
      region.current = undefined;
    };
  }, [sound]);

  useEffect(() => {
    const kept = region.current;
    if (kept === undefined) return;
    const { start, end } = range;
    const off = Math.max(Math.abs(kept.start - start), Math.abs(kept.end - end));
    if (off > ROUNDING_SECONDS) kept.setOptions({ start, end });
  }, [range]);

  useEffect(() => {
    let frame = 0;
    const follow = () => {
      frame = requestAnimationFrame(follow);
      const trimmed = heardSeconds("trimmed");
      const seconds =
        trimmed === undefined
          ? heardSeconds("original")
          : trimmed + useDraft.getState().treatment.range.start;
      if (seconds !== undefined) wave.current?.setTime(seconds);
    };
    follow();
    return () => cancelAnimationFrame(frame);
  }, []);

  return (
    <div
      ref={holder}
      role="img"
      aria-label={label}
      className="size-full [&>div::part(region-handle)]:w-6! [&>div::part(region-handle)]:border-accent!"
    />
  );
}
