/** How loud the microphone is, in decibels from left to right; too loud is said in words as well. */
"use client";
import { clsx } from "clsx";
import { toDb } from "../audio/pcm.ts";
import { useStrings } from "../i18n/provider.tsx";

/** Left end, and where loud begins, in dBFS. */
const LOWEST_DB = -60;
const LOUD_DB = -6;

interface LevelMeterProps {
  /** From 0 to 1. */
  readonly peak: number;
  readonly isClipped: boolean;
}

export function LevelMeter({ peak, isClipped }: LevelMeterProps) {
  const words = useStrings("voices").add;
  const db = Math.max(LOWEST_DB, toDb(peak));
  return (
    <div className="grid gap-1">
      <meter
        aria-label={words.level}
        min={LOWEST_DB}
        max={0}
        value={Math.round(db)}
        className="sr-only"
      >
        {Math.round(db)} dB
      </meter>
      <div aria-hidden className="h-3 overflow-hidden rounded-full bg-sunken">
        <div
          style={{ transform: `scaleX(${1 - db / LOWEST_DB})` }}
          className={clsx(
            "h-full origin-left rounded-full",
            isClipped ? "bg-bad" : db > LOUD_DB ? "bg-warn" : "bg-good",
          )}
        />
      </div>
      {isClipped && (
        <p role="status" className="text-xs text-bad">
          {words.tooLoud}
        </p>
      )}
    </div>
  );
}
