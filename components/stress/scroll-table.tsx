/** A table of figures under a heading; what is wider than the page scrolls, by keyboard too. */
"use client";
import { type ReactNode, useId } from "react";

interface ScrollTableProps {
  readonly title: string;
  readonly columns: readonly string[];
  /** The first cell heads its row. */
  readonly rows: readonly { readonly id: string; readonly cells: readonly ReactNode[] }[];
  readonly about?: string | undefined;
  readonly testId?: string;
}

export function ScrollTable({ title, columns, rows, about, testId }: ScrollTableProps) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="card grid gap-2 p-3" data-testid={testId}>
      <h3 id={id} className="text-sm font-semibold">
        {title}
      </h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <section aria-labelledby={id} tabIndex={0} className="max-h-[28rem] overflow-auto">
        <table className="w-full text-right text-xs">
          <thead className="text-muted">
            <tr>
              {columns.map((column, index) => (
                <th
                  key={column}
                  className={
                    index === 0 ? "py-1 pr-3 text-left font-medium" : "py-1 pl-3 font-medium"
                  }
                >
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ id, cells: [head, ...values] }) => (
              <tr key={id} className="border-t border-line" data-row={id}>
                <th scope="row" className="whitespace-nowrap py-1.5 pr-3 text-left font-normal">
                  {head}
                </th>
                {values.map((value, index) => (
                  <td key={columns[index + 1]} className="figures whitespace-nowrap py-1.5 pl-3">
                    {value}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {about !== undefined && <p className="text-xs text-muted">{about}</p>}
    </section>
  );
}
