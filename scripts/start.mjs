/** `npm start`: makes the checkout ready, then runs the server with the arguments given, in the caller's folder. */
import { bootstrap, RUNTIME_TARGETS } from "./bootstrap.mjs";
import { runMain } from "./lib/problem.mjs";
import { runAttached, typescriptArguments } from "./lib/process.mjs";

await runMain(async () => {
  const given = process.argv.slice(2);
  await bootstrap({ targets: RUNTIME_TARGETS, pages: !given.includes("--no-ui") });
  const args = typescriptArguments("server/main.ts", given);
  return runAttached(process.execPath, args, { cwd: process.env.INIT_CWD ?? process.cwd() });
});
