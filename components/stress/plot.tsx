/**
 * One chart (uPlot), in the colours of the theme and as wide as its place. Loaded with the first chart. What it shows is
 * also told in words: by its label here, and by the tables beside it.
 */
"use client";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface PlotLine {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** A colour of the theme, such as `--wave`. */
  readonly color: string;
  /** Lengths of strokes and gaps, so that colour is not all that tells lines apart. */
  readonly dash?: readonly number[];
  /** Runs level from one value to the next. */
  readonly isStepped?: boolean;
  /** Draws over what is missing. */
  readonly spansGaps?: boolean;
}

export interface PlotMark {
  readonly axis: "x" | "y";
  readonly value: number;
  readonly label: string;
  readonly color: string;
}

export interface PlotProps {
  readonly x: readonly number[];
  readonly lines: readonly PlotLine[];
  readonly marks: readonly PlotMark[];
  readonly format: (value: number) => string;
  readonly formatX: (value: number) => string;
  /** What it shows, for those who do not see it. */
  readonly label: string;
  /** Upper end of the axis, where it is always the same. */
  readonly top?: number | undefined;
  /** Charts with the same key move their cursors together. */
  readonly sync?: string | undefined;
  /** Place of the point under the cursor; null: none. */
  readonly onCursor?: ((index: number | null) => void) | undefined;
}

const HEIGHT = 150;
const FONT = '11px "Inter Variable", system-ui, sans-serif';

export function Plot(props: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const { x, lines, marks, label } = props;
  const look = JSON.stringify(
    lines.map(({ label, color, dash, isStepped, spansGaps }) => [
      label,
      color,
      dash,
      isStepped,
      spansGaps,
    ]),
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: values and marks are read when they are drawn
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const made = new uPlot(optionsOf(element, latest), dataOf(latest.current), element);
    plot.current = made;
    const sizes = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    sizes.observe(element);
    const unwatch = watchTheme(() => made.redraw(false));
    return () => {
      unwatch();
      sizes.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [look]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn again when what it shows has changed
  useEffect(() => {
    plot.current?.setData(dataOf(latest.current));
  }, [x, lines, marks]);

  return (
    <div ref={place} role="img" aria-label={label} className="w-full" style={{ height: HEIGHT }} />
  );
}

type Latest = { readonly current: PlotProps };

function dataOf({ x, lines }: PlotProps): uPlot.AlignedData {
  return [x as number[], ...lines.map(({ values }) => values as (number | null)[])];
}

function optionsOf(element: HTMLElement, latest: Latest): uPlot.Options {
  const color = (name: string) => () => getComputedStyle(element).getPropertyValue(name);
  const axis = (format: (value: number) => string): uPlot.Axis => ({
    stroke: color("--muted"),
    font: FONT,
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
    values: (_, splits) => splits.map(format),
  });
  const { sync } = latest.current;
  return {
    width: element.clientWidth,
    height: HEIGHT,
    // The last number below the chart stands half beyond its side.
    padding: [8, 24, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      ...(sync === undefined ? {} : { sync: { key: sync } }),
    },
    scales: {
      x: { time: false, range: (_, low, high) => sidesOf(low, high) },
      y: { range: (_, __, high) => [0, topOf(latest.current, high)] },
    },
    axes: [
      { ...axis((value) => latest.current.formatX(value)), size: 24, gap: 4, space: 64 },
      { ...axis((value) => latest.current.format(value)), size: 58, gap: 4, space: 32 },
    ],
    series: [
      {},
      ...latest.current.lines.map(
        ({ color: name, dash, isStepped, spansGaps }): uPlot.Series => ({
          stroke: color(name),
          width: 1.75,
          spanGaps: spansGaps ?? false,
          ...(dash === undefined ? {} : { dash: [...dash] }),
          ...(isStepped && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
          points: { size: 4 },
        }),
      ),
    ],
    hooks: {
      draw: [(plot) => drawMarks(plot, latest.current.marks, (name) => color(name)())],
      setCursor: [({ cursor }) => latest.current.onCursor?.(cursor.idx ?? null)],
    },
  };
}

/** An axis has a length, of one point and of none as well. */
function sidesOf(low: number | null, high: number | null): [number, number] {
  const left = low ?? 0;
  return [left, high !== null && high > left ? high : left + 1];
}

/** A little above everything that is drawn. */
function topOf({ top, marks }: PlotProps, high: number | null): number {
  if (top !== undefined) return top;
  const levels = marks.filter(({ axis }) => axis === "y").map(({ value }) => value);
  return 1.1 * Math.max(high ?? 0, ...levels) || 1;
}

function drawMarks(
  { ctx, bbox, valToPos }: uPlot,
  marks: readonly PlotMark[],
  color: (name: string) => string,
): void {
  ctx.save();
  ctx.setLineDash([8, 4]);
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.font = FONT.replace("11px", `${11 * devicePixelRatio}px`);
  for (const { axis, value, label, color: name } of marks) {
    const at = Math.round(valToPos(value, axis, true));
    ctx.strokeStyle = ctx.fillStyle = color(name);
    ctx.beginPath();
    if (axis === "y") {
      ctx.moveTo(bbox.left, at);
      ctx.lineTo(bbox.left + bbox.width, at);
    } else {
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
    }
    ctx.stroke();
    const gap = 4 * devicePixelRatio;
    ctx.textBaseline = axis === "y" ? "bottom" : "top";
    if (axis === "y") {
      ctx.textAlign = "right";
      ctx.fillText(label, bbox.left + bbox.width - gap, at - gap / 2);
    } else {
      const isRight = at > bbox.left + bbox.width / 2;
      ctx.textAlign = isRight ? "right" : "left";
      ctx.fillText(label, isRight ? at - gap : at + gap, bbox.top);
    }
  }
  ctx.restore();
}

/** @returns ends the watch */
function watchTheme(onChange: () => void): () => void {
  const chosen = new MutationObserver(onChange);
  chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", onChange);
  return () => {
    chosen.disconnect();
    system.removeEventListener("change", onChange);
  };
}
