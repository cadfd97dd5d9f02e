/** What this server accepts at most, with what each limit means. */
"use client";
import { useLimits } from "../api/limits.ts";
import { useLocale, useStrings } from "../i18n/provider.tsx";
import { useServer } from "../store/server.ts";
import { Described } from "./fields-table.tsx";
import { type FieldRow, fieldRows, type Schemas } from "./schema.ts";
import { Section } from "./section.tsx";

export function Limits({ schemas }: { readonly schemas: Schemas }) {
  const { sections, limits: words, table } = useStrings("reference");
  const locale = useLocale();
  const document = useLimits();
  const isLocked = useServer((server) => server.isLocked);
  const rows = fieldRows(schemas.LimitsDocument ?? {}, schemas).filter(
    ({ name }) => name !== "limits",
  );
  return (
    <Section id="limits" title={sections.limits} about={words.about}>
      {document === undefined ? (
        <p className="text-sm text-muted">{isLocked ? words.locked : words.waiting}</p>
      ) : (
        <table className="w-full text-left text-sm" aria-label={sections.limits}>
          <thead className="text-xs text-muted max-sm:sr-only">
            <tr>
              <th className="py-1 pr-3 font-medium">{table.name}</th>
              <th className="py-1 pr-3 text-right font-medium">{table.value}</th>
              <th className="py-1 font-medium">{table.meaning}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name} className="border-t border-line align-top max-sm:grid max-sm:py-1">
                <th scope="row" className="py-1 pr-3 font-normal">
                  <code className="figures break-all text-xs">
                    {row.name.replace("limits.", "")}
                  </code>
                </th>
                <td className="figures break-words py-1 pr-3 text-xs font-semibold sm:max-w-60 sm:text-right">
                  {shown(valueAt(document, row), locale)}
                </td>
                <td className="py-1 text-muted">
                  <Described text={row.description} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

function valueAt(document: object, { name }: FieldRow): unknown {
  return name
    .split(".")
    .reduce<unknown>(
      (value, key) => (value as Record<string, unknown> | undefined)?.[key],
      document,
    );
}

function shown(value: unknown, locale: string): string {
  if (typeof value === "number") return value.toLocaleString(locale);
  if (Array.isArray(value)) return value.join(", ");
  return value === null ? "–" : String(value);
}
