/** What a newcomer has to know before the tables: address, key, other clients, and how to be heard soon. */
"use client";
import type { ReactNode } from "react";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Described } from "./fields-table.tsx";
import type { OpenApi } from "./operations.ts";
import { Section } from "./section.tsx";

const FORMATS = ["pcm", "wav", "flac", "mp3", "aac", "opus"] as const;

interface GuideProps {
  readonly openapi: OpenApi;
  readonly origin: string;
  readonly needsKey: boolean;
}

export function Guide({ openapi, origin, needsKey }: GuideProps) {
  const { sections, start } = useStrings("reference");
  return (
    <Section id="start" title={sections.start}>
      <div className="grid max-w-prose gap-4 text-sm leading-relaxed">
        <Note title={start.address}>
          <p>
            <Described text={fill(start.addressText, { origin })} />
          </p>
        </Note>
        <Note title={start.auth}>
          <p>
            <Described text={needsKey ? start.authNeeded : start.authOpen} />
          </p>
          <p>
            <Described text={start.authSocket} />
          </p>
        </Note>
        <Note title={start.openai}>
          <p>
            <Described text={fill(start.openaiText, { origin })} />
          </p>
        </Note>
        <Note title={start.flush}>
          <p>
            <Described text={start.flushText} />
          </p>
        </Note>
        <Note title={start.exact}>
          <p>
            <Described text={start.exactText} />
          </p>
        </Note>
        <Note title={start.reading}>
          <p>
            <Described text={start.readingText} />
          </p>
        </Note>
      </div>
      <Formats types={contentTypesOf(openapi)} />
    </Section>
  );
}

function Note({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="grid gap-1">
      <h3 className="font-semibold">{title}</h3>
      {children}
    </div>
  );
}

function Formats({ types }: { readonly types: readonly string[] }) {
  const { start } = useStrings("reference");
  return (
    <table className="w-full text-left text-sm" aria-label={start.formats}>
      <caption className="py-1 text-left font-semibold">{start.formats}</caption>
      <thead className="text-xs text-muted max-sm:sr-only">
        <tr>
          <th className="py-1 pr-3 font-medium">{start.format}</th>
          <th className="py-1 pr-3 font-medium">{start.contentType}</th>
          <th className="py-1 font-medium">{start.formatNote}</th>
        </tr>
      </thead>
      <tbody>
        {FORMATS.map((format) => (
          <tr key={format} className="border-t border-line align-top max-sm:grid max-sm:py-1">
            <th scope="row" className="figures py-1 pr-3 text-xs font-semibold">
              {format}
            </th>
            <td className="figures py-1 pr-3 text-xs">{typeOf(format, types)}</td>
            <td className="py-1">
              <Described text={start.formatNotes[format]} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Content types that the speech route answers with, as its description lists them. */
function contentTypesOf({ paths }: OpenApi): string[] {
  const post = paths["/v1/audio/speech"]?.post as
    | { responses?: Record<string, { content?: object }> }
    | undefined;
  return Object.keys(post?.responses?.[200]?.content ?? {});
}

/** Two formats are not called by their own names. */
const NAMED: Readonly<Record<string, string>> = { mp3: "audio/mpeg", opus: "audio/ogg" };

function typeOf(format: string, types: readonly string[]): string {
  const wanted = NAMED[format] ?? `audio/${format}`;
  return types.find((type) => type === wanted) ?? "–";
}
