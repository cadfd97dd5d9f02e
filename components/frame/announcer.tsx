/**
 * The one polite live region. `announce` may be called often: what is said is the latest sentence, at most one a second,
 * so that a screen reader is not flooded by a generator that reports in real time.
 */
"use client";
import { useEffect, useRef } from "react";

const QUIET_MS = 1000;

let say: (sentence: string) => void = () => {};

/** Has a sentence read out soon; a later one that comes before takes its place. */
export function announce(sentence: string): void {
  say(sentence);
}

export function Announcer() {
  const region = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let next: string | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const speak = () => {
      timer = undefined;
      if (next === undefined || region.current === null) return;
      region.current.textContent = next;
      next = undefined;
      timer = setTimeout(speak, QUIET_MS);
    };
    say = (sentence) => {
      next = sentence;
      if (timer === undefined) speak();
    };
    return () => {
      clearTimeout(timer);
      say = () => {};
    };
  }, []);
  return <div ref={region} role="status" aria-live="polite" className="sr-only" />;
}
