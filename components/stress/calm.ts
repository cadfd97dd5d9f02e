/** For those who want less motion: a value that changes once a second at most. */
"use client";
import { useEffect, useRef, useState } from "react";

const CALM_MS = 1000;

/** The value itself, or, where less motion is wanted, what it was at the last full second. */
export function useCalm<T>(value: T): T {
  const [shown, setShown] = useState(value);
  const latest = useRef(value);
  latest.current = value;
  const [isCalm, setCalm] = useState(false);
  useEffect(() => {
    const wish = matchMedia("(prefers-reduced-motion: reduce)");
    const read = () => setCalm(wish.matches);
    read();
    wish.addEventListener("change", read);
    return () => wish.removeEventListener("change", read);
  }, []);
  useEffect(() => {
    if (!isCalm) return;
    const timer = setInterval(() => setShown(latest.current), CALM_MS);
    return () => clearInterval(timer);
  }, [isCalm]);
  return isCalm ? shown : value;
}
