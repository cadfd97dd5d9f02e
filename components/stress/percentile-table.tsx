/** Everything that was measured as a distribution, at the usual shares. */
"use client";
import { STRESS_MEASURES, type StressReport } from "../../server/stress/types.ts";
import { useStrings } from "../i18n/provider.tsx";
import { ScrollTable } from "./scroll-table.tsx";
import { useWriters } from "./use-writers.ts";

const PLACES = ["p50", "p75", "p90", "p95", "p99", "p999"] as const;

export function PercentileTable({ report }: { readonly report: StressReport }) {
  const words = useStrings("stress").report;
  const { plain } = useWriters();
  const places = PLACES.map((place) => (place === "p999" ? "p99.9" : place));
  return (
    <ScrollTable
      title={words.percentiles}
      testId="percentiles"
      columns={[words.measure, words.count, words.mean, ...places, words.max]}
      about={words.corrected}
      rows={STRESS_MEASURES.map((name) => {
        const { count, mean, max, ...at } = report.percentiles[name];
        const values = [mean, ...PLACES.map((place) => at[place]), max].map(plain);
        return { id: name, cells: [words.measures[name], String(count), ...values] };
      })}
    />
  );
}
