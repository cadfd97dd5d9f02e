/** Single-letter shortcuts. They keep out of text fields, open dialogs and keys that the browser needs. */
"use client";
import { useEffect, useRef } from "react";

type KeyMap = Readonly<Record<string, (event: KeyboardEvent) => void>>;

const TYPING =
  "input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable=true]";

/** Whether the focus is where letters are typed, or inside a dialog or a menu that has keys of its own. */
function isBusy(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false;
  return target.matches(TYPING) || target.closest("[role=dialog], [role=menu]") !== null;
}

/**
 * Calls the function of a key (`event.key`, letters in lower case; `shift+` in front where it matters) pressed anywhere on
 * the page. A function that acts should call `preventDefault` where the browser has a meaning of its own for the key.
 */
export function useKeys(map: KeyMap): void {
  const latest = useRef(map);
  latest.current = map;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (event.defaultPrevented || isBusy(event.target)) return;
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      const name = event.shiftKey && key === " " ? "shift+ " : key;
      latest.current[name]?.(event);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}
