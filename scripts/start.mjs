/** `npm start`: makes the checkout ready, then runs the server with the arguments given, in the caller's folder. */
import { bootstrap, RUNTIME_TARGETS } from "./bootstrap.mjs";
import { runMain } from "./lib/problem.mjs";
import { runAttached, typescriptArguments } from "./lib/process.mjs";

/** With this the server asks to be started again, since a GPU is lost to its process (server/main.ts). */
const START_AGAIN = 75;

await runMain(async () => {
  const given = process.argv.slice(2);
  await bootstrap({ targets: RUNTIME_TARGETS, pages: !given.includes("--no-ui") });
  const args = typescriptArguments("server/main.ts", given);
  const run = () =>
    runAttached(process.execPath, args, { cwd: process.env.INIT_CWD ?? process.cwd() });
  let status = await run();
  while (status === START_AGAIN) status = await run();
  return status;
});
