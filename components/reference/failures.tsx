/** What can go wrong: every error with cause and remedy, and what the close codes of the socket mean. */
"use client";
import { useState } from "react";
import type { CloseCode } from "../../server/protocol/asyncapi.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Badge } from "../ui/badge.tsx";
import { TextField } from "../ui/field.tsx";
import { Described } from "./fields-table.tsx";
import type { ErrorReference } from "./operations.ts";
import { Section } from "./section.tsx";

export function Errors({ errors }: { readonly errors: readonly ErrorReference[] }) {
  const { sections, errors: words, table } = useStrings("reference");
  const [query, setQuery] = useState("");
  const wanted = query.trim().toLowerCase();
  const shown = errors.filter((error) =>
    `${error.code} ${error.status} ${error.close} ${error.text}`.toLowerCase().includes(wanted),
  );
  return (
    <Section id="errors" title={sections.errors} about={words.about}>
      <TextField
        label={words.find}
        type="search"
        className="max-w-xs"
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
      />
      {shown.length === 0 && (
        <p className="text-sm text-muted">{fill(words.none, { query: query.trim() })}</p>
      )}
      <ul className="grid gap-2" aria-label={sections.errors}>
        {shown.map((error) => (
          <li
            key={error.code}
            id={`error-${error.code}`}
            className="card grid scroll-mt-20 gap-1 px-3 py-2 text-sm"
          >
            <p className="flex flex-wrap items-center gap-2">
              <code className="figures break-all font-semibold">{error.code}</code>
              <Badge>
                {table.status} {error.status}
              </Badge>
              <Badge>
                {table.close} {error.close}
              </Badge>
              <Badge tone={error.retryable ? "good" : "plain"}>
                {table.retry}: {error.retryable ? table.retryYes : table.retryNo}
              </Badge>
            </p>
            <p>
              <Described text={error.text} />
            </p>
            <p className="text-muted">
              <span className="font-medium">{table.remedy}:</span> <Described text={error.next} />
            </p>
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function CloseCodes({ codes }: { readonly codes: readonly CloseCode[] }) {
  const { sections, closes, table } = useStrings("reference");
  return (
    <Section id="closes" title={sections.closes} about={closes.about}>
      <ul className="grid gap-2" aria-label={sections.closes}>
        {codes.map(({ code, meaning, errors, retryable }) => (
          <li key={code} className="card grid gap-1 px-3 py-2 text-sm">
            <p className="flex flex-wrap items-center gap-2">
              <code className="figures font-semibold">{code}</code>
              <span>{meaning}</span>
              {errors.length > 0 && (
                <Badge tone={retryable ? "good" : "plain"}>
                  {table.retry}: {retryable ? table.retryYes : table.retryNo}
                </Badge>
              )}
            </p>
            {errors.length > 0 && (
              <p className="flex flex-wrap gap-x-3 gap-y-1 text-xs">
                <span className="text-muted">{closes.reasons}:</span>
                {errors.map((name) => (
                  <a
                    key={name}
                    href={`#error-${name}`}
                    className="figures break-all underline underline-offset-4"
                  >
                    {name}
                  </a>
                ))}
              </p>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
