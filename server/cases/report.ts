/** What a run says: one line a case, then totals; the same as JSON for programs. */

export interface CaseResult {
  readonly id: string;
  readonly name: string;
  readonly area: string;
  readonly status: "passed" | "failed" | "not run";
  /** What was wrong. */
  readonly problems: readonly string[];
  /** Why it was not run, or what could not be checked. */
  readonly notes: readonly string[];
  readonly ms: number;
}

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly notRun: number;
}

const MARKS = { passed: "pass", failed: "FAIL", "not run": "----" } as const;

/** The lines of a case. */
export function caseLines({ id, name, status, problems, notes, ms }: CaseResult): string {
  const title = id === name ? name : `${id} ${name}`;
  const seconds = status === "not run" ? "" : `  ${(ms / 1000).toFixed(1)} s`;
  const kind = status === "not run" ? "not run" : "note";
  const reasons = [...problems, ...notes.map((note) => `${kind}: ${note}`)];
  const lines = reasons.flatMap((reason) => reason.split("\n"));
  return [`${MARKS[status]}  ${title}${seconds}`, ...lines.map((line) => `        ${line}`)].join(
    "\n",
  );
}

export function totalsOf(results: readonly CaseResult[]): Totals {
  const count = (status: CaseResult["status"]) =>
    results.filter((result) => result.status === status).length;
  return { passed: count("passed"), failed: count("failed"), notRun: count("not run") };
}

export function totalsLine(results: readonly CaseResult[]): string {
  const { passed, failed, notRun } = totalsOf(results);
  const seconds = results.reduce((sum, { ms }) => sum + ms, 0) / 1000;
  return `${passed} passed, ${failed} failed, ${notRun} not run, in ${seconds.toFixed(0)} s`;
}

/** The whole run as a document. */
export function reportDocument(
  file: string,
  url: string | undefined,
  results: readonly CaseResult[],
): object {
  return { file, url: url ?? null, totals: totalsOf(results), cases: results };
}
