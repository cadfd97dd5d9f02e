/** Where on the page what is: beside the text on wide screens, folded above it on narrow ones. */
"use client";
import { useEffect, useState } from "react";
import { useStrings } from "../i18n/provider.tsx";

export const SECTIONS = [
  "start",
  "routes",
  "toServer",
  "fromServer",
  "closes",
  "errors",
  "limits",
] as const;

export function Contents() {
  const words = useStrings("reference");
  const here = useSectionInView();
  const list = (
    <ol className="grid gap-0.5 text-sm">
      {SECTIONS.map((id) => (
        <li key={id}>
          <a
            href={`#${id}`}
            aria-current={id === here ? "location" : undefined}
            className="block min-h-7 rounded-lg px-2.5 py-1 text-muted hover:bg-sunken hover:text-ink aria-[current=location]:bg-accent-soft aria-[current=location]:text-accent-strong"
          >
            {words.sections[id]}
          </a>
        </li>
      ))}
    </ol>
  );
  return (
    <nav aria-label={words.contents} className="lg:sticky lg:top-20 lg:self-start">
      <details className="card lg:hidden">
        <summary className="min-h-10 px-3 py-2 text-sm font-semibold">{words.contents}</summary>
        <div className="px-1 pb-2">{list}</div>
      </details>
      <div className="max-lg:hidden">{list}</div>
    </nav>
  );
}

/** The section that the reader is in: the last one whose head has come above the upper third of the window. */
function useSectionInView(): string {
  const [here, setHere] = useState<string>(SECTIONS[0]);
  useEffect(() => {
    let frame = 0;
    const look = () => {
      frame = 0;
      const line = window.innerHeight / 3;
      const above = SECTIONS.filter((id) => {
        const top = document.getElementById(id)?.getBoundingClientRect().top;
        return top !== undefined && top < line;
      });
      setHere(above.at(-1) ?? SECTIONS[0]);
    };
    const onScroll = () => {
      frame ||= requestAnimationFrame(look);
    };
    addEventListener("scroll", onScroll, { passive: true });
    return () => {
      removeEventListener("scroll", onScroll);
      cancelAnimationFrame(frame);
    };
  }, []);
  return here;
}
