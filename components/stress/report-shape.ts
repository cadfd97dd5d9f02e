/**
 * Whether something that was read from a file or from the browser's store has everything that the page shows of a report: a
 * damaged one must not take the page with it. Pure.
 */
import {
  STRESS_MEASURES,
  STRESS_SHAPES,
  STRESS_TARGETS,
  type StressReport,
} from "../../server/stress/types.ts";

/** `number?`: or null. An array: one of its words. `each`: an array of such. `has`: an object with these at least. */
type Rule =
  | "string"
  | "number"
  | "number?"
  | readonly string[]
  | { readonly each: Rule }
  | { readonly has: Readonly<Record<string, Rule>> };

const has = (rules: Readonly<Record<string, Rule>>): Rule => ({ has: rules });
const each = (rule: Rule): Rule => ({ each: rule });
const ofAll = (names: readonly string[], rule: Rule) =>
  Object.fromEntries(names.map((name) => [name, rule]));

const PLACES = ["mean", "p50", "p75", "p90", "p95", "p99", "p999", "max"];
const PERCENTILES = has({ count: "number", ...ofAll(PLACES, "number?") });
const COUNTS = has(ofAll(["spoken", "refused", "failed", "stopped"], "number"));
const MEASURED = has(ofAll(STRESS_MEASURES, PERCENTILES));

const REPORT = has({
  id: "string",
  startedAt: "string",
  plan: has({
    target: STRESS_TARGETS,
    shape: has({ kind: STRESS_SHAPES }),
    texts: has({ name: "string", items: each("string") }),
    voices: each("string"),
    limits: has({}),
  }),
  generator: has({ kind: ["browser", "server", "command"], processes: "number" }),
  end: has({ kind: ["finished", "stopped", "limit", "failed"], reason: "string" }),
  totals: COUNTS,
  ...ofAll(["seconds", "timesRealTime", "requestsPerSecond"], "number"),
  ...ofAll(["continuity", "continuityStrict"], "number?"),
  percentiles: MEASURED,
  histograms: has(ofAll(STRESS_MEASURES, has({ data: "string", scale: "number" }))),
  steps: each(
    has({ wanted: "number", counts: COUNTS, percentiles: MEASURED, timesRealTime: "number" }),
  ),
  ticks: each(
    has({
      ...ofAll(["at", "wanted", "active", "timesRealTime"], "number"),
      ...ofAll(["ttfpMs", "rtf"], PERCENTILES),
      generator: has({}),
    }),
  ),
  caveats: each("string"),
});

/** Where a report is not what it should be, such as `percentiles.ttfpMs`; undefined if it is fine. */
export function flawOf(report: StressReport): string | undefined {
  if (Number.isNaN(Date.parse(report.startedAt))) return "startedAt";
  return flaw(report, REPORT, "");
}

function flaw(value: unknown, rule: Rule, path: string): string | undefined {
  if (rule === "string" || rule === "number") return typeof value === rule ? undefined : path;
  if (rule === "number?") return value === null || typeof value === "number" ? undefined : path;
  if (!("each" in rule) && !("has" in rule)) {
    return rule.includes(value as string) ? undefined : path;
  }
  if ("each" in rule) {
    if (!Array.isArray(value)) return path;
    return firstOf(value, (item, i) => flaw(item, rule.each, `${path}[${i}]`));
  }
  if (typeof value !== "object" || value === null) return path;
  const known = value as Readonly<Record<string, unknown>>;
  return firstOf(Object.entries(rule.has), ([key, inner]) =>
    flaw(known[key], inner, path === "" ? key : `${path}.${key}`),
  );
}

function firstOf<T>(
  items: readonly T[],
  look: (item: T, index: number) => string | undefined,
): string | undefined {
  for (const [index, item] of items.entries()) {
    const found = look(item, index);
    if (found !== undefined) return found;
  }
  return undefined;
}
