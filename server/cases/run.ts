/** Runs robustness cases one after the other and says of each whether it passed. */
import type { RobustnessCase } from "./case-file.ts";
import { Mismatch, NotRunnable } from "./check.ts";
import { compare } from "./expect.ts";
import { elsewhere } from "./proven-elsewhere.ts";
import type { RecipeBook } from "./recipes.ts";
import type { CaseResult } from "./report.ts";
import { SHORTER } from "./shorter.ts";
import { runSteps } from "./steps.ts";
import type { Target } from "./target.ts";
import { type RunOptions, World } from "./world.ts";

/** Areas that need a browser. */
const BROWSER_AREAS: readonly string[] = ["player", "ui"];

/** Why a case is not driven from here; undefined for one that is. */
export function notDriven(
  { id, area, given }: RobustnessCase,
  isQuick: boolean,
): string | undefined {
  const proof = elsewhere(id, isQuick);
  if (proof !== undefined) return proof;
  const needsPage = BROWSER_AREAS.includes(area) || given.steps.some((step) => "ui" in step);
  return needsPage ? "it needs a browser" : undefined;
}

/** Runs one case against a server. Never rejects but when the run was aborted. */
export async function runCase(
  wanted: RobustnessCase,
  target: Target,
  book: RecipeBook,
  options: RunOptions,
): Promise<CaseResult> {
  const { id, name, area } = wanted;
  const from = performance.now();
  const result = (rest: Pick<CaseResult, "status" | "problems" | "notes">): CaseResult => ({
    ...{ id, name, area },
    ...rest,
    ms: Math.round(performance.now() - from),
  });
  const reason = notDriven(wanted, options.quick);
  if (reason !== undefined) return result({ status: "not run", problems: [], notes: [reason] });
  const shorter = options.quick ? SHORTER[id] : undefined;
  const world = new World(wanted, options, shorter ?? {}, target, book);
  const notes = shorter === undefined ? [] : [`shortened: ${JSON.stringify(shorter)}`];
  try {
    await world.prepare();
    await runSteps(world, wanted.given.steps, {});
    options.signal.throwIfAborted();
    const findings = await compare(world);
    const status = findings.problems.length === 0 ? "passed" : "failed";
    return result({ status, problems: findings.problems, notes: [...notes, ...findings.notes] });
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof NotRunnable) {
      return result({ status: "not run", problems: [], notes: [error.message] });
    }
    const { message, stack = message } = error as Error;
    const problem = error instanceof Mismatch ? message : stack;
    return result({ status: "failed", problems: [problem], notes });
  } finally {
    await world.close();
  }
}
