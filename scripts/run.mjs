/**
 * `node scripts/run.mjs [--pages] [--target NAME]... server/cli/NAME.ts [arguments]`: makes the checkout ready, reporting
 * on stderr only, then runs the file in the caller's folder with stdin, stdout and signals passed through. The targets are
 * the native programs that the command needs; without one it needs the addon. `--pages` builds the playground too.
 */
import { bootstrap, RUNTIME_TARGETS } from "./bootstrap.mjs";
import { Problem, runMain } from "./lib/problem.mjs";
import { runAttached, typescriptArguments } from "./lib/process.mjs";

await runMain(async () => {
  const rest = process.argv.slice(2);
  const pages = rest[0] === "--pages";
  if (pages) rest.shift();
  /** @type {string[]} */
  const targets = [];
  while (rest[0] === "--target") targets.push(...rest.splice(0, 2).slice(1));
  const [file, ...args] = rest;
  if (file === undefined) {
    throw new Problem(
      "Usage: node scripts/run.mjs [--pages] [--target NAME]... FILE.ts [arguments]",
    );
  }
  await bootstrap({
    targets: targets.length > 0 ? targets : RUNTIME_TARGETS,
    pages,
    out: process.stderr,
  });
  const cwd = process.env.INIT_CWD ?? process.cwd();
  return runAttached(process.execPath, typescriptArguments(file, args), { cwd });
});
