/** `npm run build`: installs what is missing and builds every native target and the pages. */
import { bootstrap } from "./bootstrap.mjs";
import { runMain } from "./lib/problem.mjs";

await runMain(async () => {
  await bootstrap({ targets: [], pages: true });
  return 0;
});
