/**
 * The sound of the selected take. While it arrives: blocks on a canvas, each drawn when it came and coloured by how far it
 * was ahead of playback. Once finished: wavesurfer, with zoom and marks. The canvas stays until wavesurfer is loaded, so
 * nothing jumps.
 */
"use client";
import dynamic from "next/dynamic";
import { useEffect, useRef } from "react";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { type Arrival, isFinished, soundOf, type Take, useTakes } from "../store/takes.ts";
import { Boundary } from "../ui/boundary.tsx";
import { clock } from "./clock.ts";
import { playhead, seekTo } from "./playing.ts";

const loadFinishedWave = () => import("./finished-wave.tsx");
const FinishedWave = dynamic(() => loadFinishedWave().then(({ FinishedWave }) => FinishedWave), {
  ssr: false,
  loading: () => <div className="h-36" />,
});

export function Waveform() {
  const words = useStrings("playground").wave;
  const take = useTakes(({ takes, selected }) => takes.find(({ id }) => id === selected));
  const isMaking = take !== undefined && !isFinished(take);
  useEffect(() => {
    // While the take is being made, so that its end does not depend on a server that may be gone by then.
    if (isMaking) loadFinishedWave().catch(() => undefined);
  }, [isMaking]);
  if (take === undefined) {
    return (
      <div className="grid h-36 place-items-center rounded-xl border border-dashed border-line text-sm text-muted">
        {words.none}
      </div>
    );
  }
  const isLive = !isFinished(take);
  return (
    <figure className="grid gap-1">
      <div className="card relative h-36 overflow-hidden">
        {isLive ? (
          <LiveWave take={take} />
        ) : (
          <Boundary>
            <FinishedWave key={take.id} take={take} />
          </Boundary>
        )}
      </div>
      <figcaption className="flex items-baseline justify-between gap-3 text-xs text-muted">
        <span className="max-sm:sr-only">{isLive ? words.legend : ""}</span>
        <Position take={take} />
      </figcaption>
    </figure>
  );
}

/** Where playback is, written at most ten times a second and never through React. */
function Position({ take }: { readonly take: Take }) {
  const words = useStrings("playground").wave;
  const text = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const show = () => {
      if (text.current === null) return;
      const position = clock(playhead(take.id) ?? 0);
      text.current.textContent = fill(words.position, { position, length: clock(take.durationMs) });
    };
    show();
    const timer = setInterval(show, 100);
    return () => clearInterval(timer);
  }, [take.id, take.durationMs, words]);
  return <span ref={text} className="figures whitespace-nowrap" data-testid="position" />;
}

/** Lead in milliseconds below which a chunk is drawn in the colour for close, and for late. */
const CLOSE_MS = 300;
const LATE_MS = 0;

function colorOf({ leadMs }: Arrival, isFirst: boolean): string {
  if (isFirst || leadMs > CLOSE_MS) return "--good";
  return leadMs > LATE_MS ? "--warn" : "--bad";
}

/** Seconds that the canvas shows at least, so that the first chunk does not fill it. */
const LEAST_SECONDS = 4;

function LiveWave({ take }: { readonly take: Take }) {
  const words = useStrings("playground").wave;
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(take);
  latest.current = take;

  useEffect(() => {
    let frame = 0;
    const draw = () => {
      frame = requestAnimationFrame(draw);
      if (canvas.current !== null) paint(canvas.current, latest.current);
    };
    draw();
    return () => cancelAnimationFrame(frame);
  }, []);

  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label={words.live}
      className="size-full"
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const shownMs = Math.max(take.durationMs, LEAST_SECONDS * 1000);
        const ms = ((event.clientX - box.left) / box.width) * shownMs;
        if (ms < take.durationMs) seekTo(take.id, ms);
      }}
    />
  );
}

function paint(canvas: HTMLCanvasElement, take: Take): void {
  const context = canvas.getContext("2d");
  const sound = soundOf(take.id);
  if (context === null || sound === undefined) return;
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== width * ratio) canvas.width = width * ratio;
  if (canvas.height !== height * ratio) canvas.height = height * ratio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name);
  const shownMs = Math.max(take.durationMs, LEAST_SECONDS * 1000);
  const x = (ms: number) => (ms / shownMs) * width;

  let startMs = 0;
  take.arrivals.forEach((arrival, index) => {
    const from = Math.round((startMs / 1000) * sound.sampleRate);
    const frames = Math.round((arrival.durationMs / 1000) * sound.sampleRate);
    const columns = Math.max(1, Math.round(x(arrival.durationMs)));
    context.fillStyle = color(colorOf(arrival, index === 0));
    for (let column = 0; column < columns; column++) {
      const start = from + (column / columns) * frames;
      const peak = sound.peakBetween(start, start + frames / columns);
      const size = Math.max(1, peak * (height - 16));
      context.fillRect(x(startMs) + column, (height - size) / 2, 1, size);
    }
    startMs += arrival.durationMs;
  });
  context.fillStyle = color("--bad");
  for (const { atMs } of take.underruns) {
    context.beginPath();
    context.moveTo(x(atMs) - 5, 0);
    context.lineTo(x(atMs) + 5, 0);
    context.lineTo(x(atMs), 12);
    context.fill();
    context.fillRect(x(atMs) - 0.5, 0, 1, height);
  }
  const position = playhead(take.id);
  if (position !== undefined) {
    context.fillStyle = color("--ink");
    context.fillRect(x(position) - 1, 0, 2, height);
  }
}
