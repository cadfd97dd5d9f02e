/**
 * `npm test`: makes the checkout ready, installs what the tests need, runs every check and test, and ends with one
 * line of totals. `--only lint|native|unit|integration|e2e` runs one group (repeat it for several); `--quick` runs what
 * needs no model: lint, native, unit. `--thorough` repeats what is about endurance as often as it was written for.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bootstrap } from "./bootstrap.mjs";
import { ensureDebian } from "./lib/debian.mjs";
import { BUILD_DIR } from "./lib/native.mjs";
import { Problem, reportProblem, runMain } from "./lib/problem.mjs";
import { runAttached, runLines } from "./lib/process.mjs";
import { ROOT } from "./lib/root.mjs";
import { formatTally, parseTally, sumTallies, vitestTally, withStatus } from "./lib/tally.mjs";
import { BROWSER, SOUND_TOOLS, which } from "./lib/tools.mjs";

/** @typedef {import("./lib/tally.mjs").Tally} Tally */

const NONE = { passed: 0, failed: 0, skipped: 0 };
const GROUPS = ["lint", "native", "unit", "integration", "e2e"];
const WITHOUT_NATIVE = ["lint", "unit"];
const QUICK = ["lint", "native", "unit"];

/** @type {{ group: string, title: string, run: () => Promise<Tally> }[]} */
const STEPS = [
  {
    group: "lint",
    title: "Style (biome)",
    run: () => check("biome", ["check", "--error-on-warnings", "."]),
  },
  { group: "lint", title: "Types (tsc)", run: () => check("tsc", ["--noEmit"]) },
  {
    group: "lint",
    title: "Import directions (dependency-cruiser)",
    run: () => check("depcruise", ["--config", ".dependency-cruiser.cjs", "."]),
  },
  { group: "native", title: "Native unit tests", run: runNative },
  { group: "unit", title: "Unit tests", run: () => runVitest("unit") },
  { group: "integration", title: "Integration tests", run: () => runVitest("integration") },
  { group: "e2e", title: "Browser tests", run: runBrowser },
];

/**
 * Runs a program of node_modules that either succeeds or not: one check, counted as one test.
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<Tally>}
 */
async function check(program, args) {
  const status = await runAttached(join(ROOT, "node_modules/.bin", program), args);
  return status === 0 ? { ...NONE, passed: 1 } : { ...NONE, failed: 1 };
}

/** @returns {Promise<Tally>} */
async function runNative() {
  let tally = NONE;
  const status = await runLines(join(BUILD_DIR, "sonant_tests"), [], {
    onLine(line) {
      console.log(line);
      tally = parseTally(line) ?? tally;
    },
  });
  return withStatus(tally, status);
}

/**
 * @param {string} project
 * @returns {Promise<Tally>}
 */
async function runVitest(project, env = process.env) {
  const folder = mkdtempSync(join(tmpdir(), "sonant-test-"));
  const report = join(folder, "report.json");
  try {
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const args = ["run", "--project", project, "--passWithNoTests", ...reporters];
    const vitest = join(ROOT, "node_modules/.bin/vitest");
    const status = await runAttached(vitest, args, { env });
    const tally = existsSync(report) ? vitestTally(JSON.parse(readFileSync(report, "utf8"))) : NONE;
    return withStatus(tally, status);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @returns {Promise<Tally>} */
async function runBrowser() {
  const chromium = BROWSER.commands.map((command) => which(command)).find(Boolean);
  if (chromium !== undefined) {
    return runVitest("e2e", { ...process.env, SONANT_CHROMIUM: chromium });
  }
  console.log("No Chromium here, so the browser tests do not run.");
  return process.env.CI ? { ...NONE, failed: 1 } : { ...NONE, skipped: 1 };
}

/** The groups that the command line asks for. */
function chosenGroups() {
  const { values } = parseArgs({
    options: {
      only: { type: "string", multiple: true },
      quick: { type: "boolean" },
      thorough: { type: "boolean" },
    },
  });
  if (values.thorough) process.env.SONANT_THOROUGH = "1";
  const unknown = values.only?.find((group) => !GROUPS.includes(group));
  if (unknown !== undefined) {
    throw new Problem(`There is no group "${unknown}"; the groups are ${GROUPS.join(", ")}.`);
  }
  return values.only ?? (values.quick ? QUICK : GROUPS);
}

/** @param {string[]} groups */
async function prepare(groups) {
  const needsNative = groups.some((group) => !WITHOUT_NATIVE.includes(group));
  await bootstrap({ targets: needsNative ? [] : undefined, pages: groups.includes("e2e") });
  const tools = [
    ...(groups.includes("unit") || groups.includes("integration") ? SOUND_TOOLS : []),
    ...(groups.includes("e2e") ? [BROWSER] : []),
  ];
  await ensureDebian(tools, console.log);
}

await runMain(async () => {
  const groups = chosenGroups();
  /** @type {{ title: string, seconds: number, tally: Tally }[]} */
  const results = [];
  const timed = async (/** @type {string} */ title, /** @type {() => Promise<Tally>} */ run) => {
    console.log(`\n== ${title}`);
    const started = Date.now();
    let tally = NONE;
    try {
      tally = await run();
    } catch (error) {
      reportProblem(error);
      tally = { ...NONE, failed: 1 };
    }
    results.push({ title, seconds: (Date.now() - started) / 1000, tally });
    return tally.failed === 0;
  };

  const ready = await timed("Preparation", async () => {
    await prepare(groups);
    return NONE;
  });
  // The step that runs is ended by the same signal; those after it are not begun.
  let interrupted = false;
  const interrupt = () => {
    interrupted = true;
  };
  process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
  for (const { group, title, run } of ready ? STEPS : []) {
    if (!interrupted && groups.includes(group)) await timed(title, run);
  }

  console.log(interrupted ? "\n== Interrupted" : "\n== Summary");
  for (const { title, seconds, tally } of results) {
    console.log(`${title.padEnd(40)} ${seconds.toFixed(1).padStart(7)} s   ${formatTally(tally)}`);
  }
  const total = sumTallies(results.map(({ tally }) => tally));
  console.log(formatTally(total));
  return total.failed === 0 && !interrupted ? 0 : 1;
});
