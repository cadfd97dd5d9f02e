/** A finished take in wavesurfer: drawn from its own samples, played by the page's player, with zoom and marks. */
"use client";
import { useEffect, useRef, useState } from "react";
import WaveSurfer from "wavesurfer.js";
import RegionsPlugin from "wavesurfer.js/dist/plugins/regions.esm.js";
import { useStrings } from "../i18n/provider.tsx";
import { loadSound } from "../store/history.ts";
import type { Take } from "../store/takes.ts";
import { clock } from "./clock.ts";
import { envelopeOf } from "./envelope.ts";
import { playhead, seekTo } from "./playing.ts";

/** Columns that a take's envelope is kept in; enough for the largest zoom of an average take. */
const COLUMNS = 4000;
const MOST_ZOOM = 400;

export function FinishedWave({ take }: { readonly take: Take }) {
  const words = useStrings("playground").wave;
  const holder = useRef<HTMLDivElement>(null);
  const wave = useRef<WaveSurfer>(undefined);
  const regions = useRef<ReturnType<typeof RegionsPlugin.create>>(undefined);
  const [zoom, setZoom] = useState(0);
  const { id, durationMs, marks, underruns } = take;

  // biome-ignore lint/correctness/useExhaustiveDependencies: a finished take keeps its sound; marks are drawn below
  useEffect(() => {
    const container = holder.current;
    if (container === null) return;
    let isGone = false;
    void loadSound(take).then((sound) => {
      if (isGone || sound === undefined) return;
      const style = getComputedStyle(container);
      const plugin = RegionsPlugin.create();
      const made = WaveSurfer.create({
        container,
        height: 120,
        waveColor: style.getPropertyValue("--wave-idle"),
        progressColor: style.getPropertyValue("--wave"),
        cursorColor: style.getPropertyValue("--ink"),
        cursorWidth: 2,
        peaks: [envelopeOf(sound, COLUMNS)],
        duration: Math.max(0.01, sound.seconds),
        normalize: false,
        interact: true,
        dragToSeek: true,
        plugins: [plugin],
      });
      wave.current = made;
      regions.current = plugin;
      made.on("interaction", (seconds) => seekTo(id, 1000 * seconds));
    });
    return () => {
      isGone = true;
      wave.current?.destroy();
      wave.current = undefined;
      regions.current = undefined;
    };
  }, [id]);

  useEffect(() => {
    let frame = 0;
    const follow = () => {
      frame = requestAnimationFrame(follow);
      const position = playhead(id);
      if (position !== undefined) wave.current?.setTime(position / 1000);
    };
    follow();
    return () => cancelAnimationFrame(frame);
  }, [id]);

  useEffect(() => {
    const timer = setTimeout(() => {
      regions.current?.clearRegions();
      for (const { atMs, text } of marks) {
        regions.current?.addRegion({
          start: atMs / 1000,
          content: text,
          drag: false,
          color: "var(--accent)",
        });
      }
      for (const { atMs } of underruns) {
        regions.current?.addRegion({ start: atMs / 1000, drag: false, color: "var(--bad)" });
      }
    }, 150);
    return () => clearTimeout(timer);
  }, [marks, underruns]);

  const onKeyDown = (event: React.KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: -1000, ArrowRight: 1000 };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    seekTo(id, Math.min(durationMs, Math.max(0, (playhead(id) ?? 0) + step)));
  };

  return (
    <div className="relative size-full">
      <div
        ref={holder}
        role="slider"
        tabIndex={0}
        aria-label={words.finished}
        aria-valuemin={0}
        aria-valuemax={Math.round(durationMs)}
        aria-valuenow={Math.round(Math.min(durationMs, playhead(id) ?? 0))}
        aria-valuetext={clock(playhead(id) ?? 0)}
        onKeyDown={onKeyDown}
        className="size-full px-2 pt-3"
      />
      <label className="absolute right-2 top-1.5 flex items-center gap-1.5 rounded-md bg-surface/80 px-1.5 text-xs text-muted">
        {words.zoom}
        <input
          type="range"
          min={0}
          max={MOST_ZOOM}
          value={zoom}
          className="h-5 w-20 accent-accent"
          onChange={(event) => {
            const pixels = Number(event.target.value);
            setZoom(pixels);
            wave.current?.zoom(pixels);
          }}
        />
      </label>
    </div>
  );
}
