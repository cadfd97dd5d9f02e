/** Counts tests, whatever ran them. */

/** @typedef {{ passed: number, failed: number, skipped: number }} Tally */

/**
 * The sum of several tallies.
 * @param {Tally[]} tallies
 * @returns {Tally}
 */
export function sumTallies(tallies) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const { passed, failed, skipped } of tallies) {
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
  }
  return total;
}

/**
 * The line that ends a test run.
 * @param {Tally} tally
 */
export function formatTally({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/**
 * Reads a tally from a line of that form, or returns undefined.
 * @param {string} line
 * @returns {Tally | undefined}
 */
export function parseTally(line) {
  const found = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(line.trim());
  if (!found) return undefined;
  return { passed: Number(found[1]), failed: Number(found[2]), skipped: Number(found[3] ?? 0) };
}

/**
 * Reads a tally from Vitest's JSON report.
 * @param {{ numPassedTests: number, numFailedTests: number, numPendingTests: number, numTodoTests: number }} report
 * @returns {Tally}
 */
export function vitestTally(report) {
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/**
 * A runner that ends badly without naming a failed test has failed all the same (a file that does not load, a crash).
 * @param {Tally} tally
 * @param {number} status the runner's exit status
 * @returns {Tally}
 */
export function withStatus(tally, status) {
  return status !== 0 && tally.failed === 0 ? { ...tally, failed: 1 } : tally;
}
