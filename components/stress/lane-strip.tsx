/**
 * The strip of lanes: what each stream did over the last minute, drawn on a canvas, since there may be a thousand of them.
 * Height says the same as colour. A click listens to the lane.
 */
"use client";
import { useEffect, useRef } from "react";
import type { StressTick } from "../../server/stress/types.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { countLooks, type LaneHistory, type LaneLook, SHOWN_TICKS } from "./lane-history.ts";
import { laneHistory, listenTo, useRunning } from "./running.ts";

/** Pixels of a lane, and of the whole strip at most. */
const LANE_HEIGHT = 12;
const MOST_HEIGHT = 360;

/** Colour of a look, and which part of the lane's height it takes. */
const LOOKS: Readonly<Record<Exclude<LaneLook, "none" | "wrong">, [color: string, part: number]>> =
  {
    wait: ["--line", 0.1],
    ask: ["--muted", 0.2],
    good: ["--good", 1],
    close: ["--warn", 0.55],
    dry: ["--bad", 0.3],
  };

export function LaneStrip({ tick }: { readonly tick: StressTick }) {
  const words = useStrings("stress").lanes;
  const canvas = useRef<HTMLCanvasElement>(null);
  const listened = useRunning((run) => run.lane);
  const lanes = Math.max(1, laneHistory.lanes);
  const height = Math.min(MOST_HEIGHT, lanes * LANE_HEIGHT);

  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn with each tick, from what the history has by then
  useEffect(() => {
    if (canvas.current !== null) paint(canvas.current, laneHistory, listened);
  }, [tick, listened, height]);

  const counts = { n: tick.lanes.length + tick.lanesLeftOut, ...countLooks(tick.lanes) };
  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label={fill(words.picture, counts)}
      style={{ height }}
      className="w-full rounded-md bg-sunken"
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        listenTo(Math.floor(((event.clientY - box.top) / box.height) * lanes));
      }}
    />
  );
}

function paint(canvas: HTMLCanvasElement, history: LaneHistory, listened: number | null): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const ratio = devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name);
  const lanes = Math.max(1, history.lanes);
  const column = width / SHOWN_TICKS;
  const row = height / lanes;
  const left = width - history.length * column;
  for (let at = 0; at < history.length; at++) {
    for (let lane = 0; lane < lanes; lane++) {
      const look = history.at(at, lane);
      if (look === "none") continue;
      const x = left + at * column;
      const y = lane * row;
      if (look === "wrong") {
        cross(context, { x, y, width: column, height: row, color: color("--bad") });
        continue;
      }
      const [name, part] = LOOKS[look];
      const size = Math.max(1, (row - 1) * part);
      context.fillStyle = color(name);
      context.fillRect(x, y + row - size, Math.max(1, column - 0.5), size);
    }
  }
  if (listened === null) return;
  context.strokeStyle = color("--focus");
  context.lineWidth = 1.5;
  context.strokeRect(0.75, listened * row + 0.75, width - 1.5, Math.max(2, row - 1.5));
}

interface Cross {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly color: string;
}

function cross(context: CanvasRenderingContext2D, { x, y, width, height, color }: Cross): void {
  context.strokeStyle = color;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, y + 1);
  context.lineTo(x + width, y + height - 1);
  context.moveTo(x + width, y + 1);
  context.lineTo(x, y + height - 1);
  context.stroke();
}
