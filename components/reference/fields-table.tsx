/** Fields of a body or message as a table; on a narrow screen each row becomes a small block. */
"use client";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Badge } from "../ui/badge.tsx";
import type { FieldRow } from "./schema.ts";

export function FieldsTable({
  rows,
  label,
}: {
  readonly rows: readonly FieldRow[];
  readonly label: string;
}) {
  const words = useStrings("reference").table;
  return (
    <table className="w-full text-left text-sm" aria-label={label}>
      <thead className="text-xs text-muted max-sm:sr-only">
        <tr>
          <th className="w-2/5 py-1 pr-3 font-medium">{words.field}</th>
          <th className="py-1 font-medium">{words.meaning}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name} className="border-t border-line align-top max-sm:grid max-sm:py-1">
            <th scope="row" className="py-1.5 pr-3 font-normal max-sm:pb-0">
              <code className="figures break-all text-xs font-semibold">{row.name}</code>{" "}
              {row.isRequired && <Badge tone="accent">{words.required}</Badge>}
              <span className="figures block break-words text-xs text-muted">{row.type}</span>
            </th>
            <td className="py-1.5 max-sm:pt-0">
              <Described text={row.description} />
              {row.fallback !== undefined && (
                <span className="text-muted">
                  {" "}
                  ({fill(words.fallback, { value: row.fallback })})
                </span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A description, in which what stands in backquotes is code. */
export function Described({ text }: { readonly text: string }) {
  return text.split("`").map((part, index) =>
    index % 2 === 0 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of one sentence never move
      <span key={index}>{part}</span>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of one sentence never move
      <code key={index} className="figures break-words text-[0.92em]">
        {part}
      </code>
    ),
  );
}
