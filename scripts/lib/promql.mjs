/** The names in a PromQL expression, as far as a check against a list of metrics needs them. No parser: promtool is one. */

const KEYWORDS = new Set(
  "by without on ignoring group_left group_right and or unless offset bool inf nan".split(" "),
);
const GROUPING = /\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/gi;
const SELECTOR = /([a-zA-Z_:][a-zA-Z0-9_:]*)\s*\{((?:[^"}]|"(?:\\.|[^"\\])*")*)\}/g;
const MATCHER = /([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*"((?:\\.|[^"\\])*)"/g;
const NAME = /(?<![\w:$.])[a-zA-Z_:][a-zA-Z0-9_:]*(?!\s*\()(?![\w:])/g;

/**
 * @typedef {{ label: string, operator: string, value: string }} Matcher
 * @typedef {{ metric: string, matchers: Matcher[] }} Selector
 */

/**
 * The metrics that an expression selects, each with its matchers, and the labels that it groups by.
 * @param {string} expression
 * @returns {{ selectors: Selector[], grouping: string[] }}
 */
export function namesIn(expression) {
  /** @type {Selector[]} */
  const selectors = [];
  const grouping = Array.from(expression.matchAll(GROUPING), ([, , list = ""]) =>
    list.split(",").map((label) => label.trim()),
  )
    .flat()
    .filter(Boolean);
  const rest = expression
    .replace(SELECTOR, (_all, metric, inside) => {
      const matchers = Array.from(inside.matchAll(MATCHER), (match) => ({
        label: match[1],
        operator: match[2],
        value: match[3],
      }));
      selectors.push({ metric, matchers });
      return " ";
    })
    .replace(GROUPING, " ")
    .replace(/"(\\.|[^"\\])*"/g, " ")
    .replace(/\[[^\]]*\]/g, " ")
    .replace(/\boffset\s+\w+/gi, " ")
    .replace(/\b\d[\w.]*/g, " ");
  for (const [metric] of rest.matchAll(NAME)) {
    if (!KEYWORDS.has(metric.toLowerCase())) selectors.push({ metric, matchers: [] });
  }
  return { selectors, grouping };
}

/** Labels that Prometheus and its operator put on every series, and the one of a histogram's buckets. */
const TARGET_LABELS = ["job", "instance", "namespace"];
const OF_PROMETHEUS = new Map([
  ["up", TARGET_LABELS],
  ["ALERTS", [...TARGET_LABELS, "alertname", "alertstate"]],
]);

/**
 * What an expression asks for that no server gives: one sentence each.
 * @param {string} expression
 * @param {import("./server-facts.mjs").Metric[]} metrics
 * @returns {string[]}
 */
export function strangeNames(expression, metrics) {
  /** @type {Map<string, string[]>} series by name, with their labels */
  const series = new Map(OF_PROMETHEUS);
  for (const { name, kind, labels } of metrics) {
    const own = [...labels, ...TARGET_LABELS];
    if (kind === "histogram") {
      for (const suffix of ["_sum", "_count"]) series.set(name + suffix, own);
      series.set(`${name}_bucket`, [...own, "le"]);
    } else if (kind === "summary") {
      for (const suffix of ["_sum", "_count"]) series.set(name + suffix, own);
      series.set(name, [...own, "quantile"]);
    } else {
      series.set(name, own);
    }
  }
  const { selectors, grouping } = namesIn(expression);
  const known = new Set(selectors.flatMap(({ metric }) => series.get(metric) ?? []));
  const problems = selectors.flatMap(({ metric, matchers }) => {
    const labels = series.get(metric);
    if (labels === undefined) return [`${metric} is not exported`];
    const strange = matchers.filter(({ label }) => !labels.includes(label));
    return strange.map(({ label }) => `${metric} has no label ${label}`);
  });
  const groups = grouping.filter((label) => !known.has(label));
  return [...problems, ...groups.map((label) => `no series has the label ${label}`)];
}
