/** The last hour and day beside each other: first packets, gaps, failures and refusals. */
"use client";
import { useStrings } from "../i18n/provider.tsx";
import { useServer } from "../store/server.ts";
import { pastTable } from "./past.ts";

export function PastTable() {
  const words = useStrings("status");
  const { units } = useStrings("common");
  const windows = useServer((server) => server.tick?.past);
  // Before the first tick there is nothing to say that the live figures above do not.
  if (windows === undefined) return null;
  const { columns, rows } = pastTable(words, units, windows);
  return (
    <section
      aria-labelledby="past"
      className="card grid content-start gap-3 p-4"
      data-testid="past"
    >
      <div className="grid max-w-prose gap-1">
        <h2 id="past" className="text-lg font-semibold tracking-tight">
          {words.past.title}
        </h2>
        <p className="text-sm text-muted">{words.past.about}</p>
      </div>
      <table className="w-full max-w-3xl text-sm">
        <thead className="align-top text-xs text-muted">
          <tr>
            <th scope="col" className="py-1 pr-3 text-left font-medium">
              {words.past.figure}
            </th>
            {columns.map(({ name, note }) => (
              <th key={name} scope="col" className="py-1 pl-3 text-right font-medium">
                {name}
                {note !== undefined && <span className="block font-normal">{note}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ id, name, values }) => (
            <tr key={id} className="border-t border-line" data-figure={id}>
              <th scope="row" className="py-1.5 pr-3 text-left font-normal">
                {name}
              </th>
              {columns.map((column, index) => (
                <td key={column.name} className="figures py-1.5 pl-3 text-right text-xs">
                  {values[index]}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
