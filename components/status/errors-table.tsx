/** What went wrong since the server began, by code. */
"use client";
import { useLocale, useStrings } from "../i18n/provider.tsx";
import { useServer } from "../store/server.ts";

export function ErrorsTable() {
  const words = useStrings("status").errors;
  const locale = useLocale();
  const errors = useServer((server) => server.tick?.errors);
  return (
    <section
      aria-labelledby="errors"
      className="card grid content-start gap-3 p-4"
      data-testid="errors"
    >
      <div className="grid gap-1">
        <h2 id="errors" className="text-lg font-semibold tracking-tight">
          {words.title}
        </h2>
        <p className="text-sm text-muted">{words.about}</p>
      </div>
      {errors === undefined || errors.length === 0 ? (
        <p className="text-sm">{errors === undefined ? words.unknown : words.none}</p>
      ) : (
        <table className="w-full text-left text-sm">
          <thead className="text-xs text-muted">
            <tr>
              <th className="py-1 pr-3 font-medium">{words.code}</th>
              <th className="py-1 pr-3 text-right font-medium">{words.count}</th>
              <th className="py-1 text-right font-medium">{words.last}</th>
            </tr>
          </thead>
          <tbody className="figures text-xs">
            {errors.map(({ code, count, last_at_ms }) => (
              <tr key={code} className="border-t border-line">
                <th scope="row" className="py-1.5 pr-3 font-normal">
                  <a href={`/api#error-${code}`} className="break-all underline underline-offset-4">
                    {code}
                  </a>
                </th>
                <td className="py-1.5 pr-3 text-right">{count.toLocaleString(locale)}</td>
                <td className="py-1.5 text-right">{new Date(last_at_ms).toLocaleString(locale)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
