import { describe, expect, it } from "vitest";
import { formatTally, parseTally, sumTallies, vitestTally, withStatus } from "./tally.mjs";

describe("tallies", () => {
  it("are written and read in one form", () => {
    expect(formatTally({ passed: 12, failed: 0, skipped: 0 })).toBe("12 passed, 0 failed");
    expect(formatTally({ passed: 12, failed: 1, skipped: 3 })).toBe(
      "12 passed, 1 failed, 3 skipped",
    );
    expect(parseTally("12 passed, 1 failed, 3 skipped")).toEqual({
      passed: 12,
      failed: 1,
      skipped: 3,
    });
    expect(parseTally("ok: 12 passed, 1 failed")).toBeUndefined();
  });

  it("add up", () => {
    const one = { passed: 1, failed: 2, skipped: 3 };
    expect(sumTallies([one, one])).toEqual({ passed: 2, failed: 4, skipped: 6 });
  });

  it("count what Vitest skipped and left to do", () => {
    const report = { numPassedTests: 5, numFailedTests: 0, numPendingTests: 1, numTodoTests: 2 };
    expect(vitestTally(report)).toEqual({ passed: 5, failed: 0, skipped: 3 });
  });

  it("count a crash as one failure, and a failed test once", () => {
    expect(withStatus({ passed: 5, failed: 0, skipped: 0 }, 139).failed).toBe(1);
    expect(withStatus({ passed: 5, failed: 2, skipped: 0 }, 1).failed).toBe(2);
    expect(withStatus({ passed: 5, failed: 0, skipped: 0 }, 0).failed).toBe(0);
  });
});
