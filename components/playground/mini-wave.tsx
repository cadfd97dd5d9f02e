/** A take's outline at the size of a word. Drawn once it is finished, and a few times before. */
"use client";
import { useEffect, useState } from "react";
import { loadSound } from "../store/history.ts";
import { isFinished, type Take } from "../store/takes.ts";
import { envelopeOf } from "./envelope.ts";

const COLUMNS = 48;
const WIDTH = 96;
const HEIGHT = 24;

export function MiniWave({ take }: { readonly take: Take }) {
  const [path, setPath] = useState("");
  const stage = isFinished(take) ? -1 : Math.floor(take.durationMs / 1000);
  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn anew each second of sound, not with each chunk
  useEffect(() => {
    let isGone = false;
    void loadSound(take).then((sound) => {
      if (!isGone && sound !== undefined && sound.frames > 0)
        setPath(pathOf(envelopeOf(sound, COLUMNS)));
    });
    return () => {
      isGone = true;
    };
  }, [take.id, stage]);
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      aria-hidden="true"
      className="h-6 w-24 text-wave max-sm:hidden"
    >
      <path d={path} stroke="currentColor" strokeWidth="1.4" strokeLinecap="round" />
    </svg>
  );
}

function pathOf(pairs: Float32Array): string {
  let path = "";
  for (let column = 0; column < COLUMNS; column++) {
    const size = Math.max(pairs[2 * column + 1] ?? 0, -(pairs[2 * column] ?? 0));
    const half = Math.max(0.5, size * (HEIGHT / 2 - 1));
    const x = ((column + 0.5) * WIDTH) / COLUMNS;
    path += `M${x.toFixed(1)} ${(HEIGHT / 2 - half).toFixed(1)}V${(HEIGHT / 2 + half).toFixed(1)}`;
  }
  return path;
}
