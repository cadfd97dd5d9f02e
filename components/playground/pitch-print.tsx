/** The pitch of a voice's sample as a small drawing: its print. */
import { clsx } from "clsx";

const WIDTH = 56;
const HEIGHT = 20;
const LOWEST = 60;
const HIGHEST = 400;

/** Runs of pitch as paths; pitch is drawn by its logarithm, as it is heard. */
function paths(trace: readonly number[]): string {
  const span = Math.log(HIGHEST / LOWEST);
  const y = (hertz: number) => HEIGHT - 1 - ((HEIGHT - 2) * Math.log(hertz / LOWEST)) / span;
  let path = "";
  let isOpen = false;
  trace.forEach((hertz, index) => {
    if (hertz <= 0) {
      isOpen = false;
      return;
    }
    const x = (WIDTH * index) / Math.max(1, trace.length - 1);
    path += `${isOpen ? "L" : "M"}${x.toFixed(1)} ${y(hertz).toFixed(1)}`;
    isOpen = true;
  });
  return path;
}

interface PitchPrintProps {
  readonly trace: readonly number[] | undefined;
  readonly isLive: boolean;
}

export function PitchPrint({ trace, isLive }: PitchPrintProps) {
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      aria-hidden="true"
      className={clsx("h-5 w-14 shrink-0", isLive ? "text-accent" : "text-line-strong")}
    >
      {trace === undefined ? (
        <line
          x1="0"
          x2={WIDTH}
          y1={HEIGHT / 2}
          y2={HEIGHT / 2}
          stroke="currentColor"
          strokeDasharray="2 4"
        />
      ) : (
        <path
          d={paths(trace)}
          fill="none"
          stroke="currentColor"
          strokeWidth="1.6"
          strokeLinecap="round"
        />
      )}
    </svg>
  );
}
