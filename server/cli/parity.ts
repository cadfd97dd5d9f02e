/**
 * `npm run parity -- FOLDER [--device cpu|cuda] [--precision fp32|bf16|int8] [--threads N] [--isa NAME]`:
 * compares the engine with reference vectors of the original implementation. Without a folder it takes
 * the fixtures of the native tests. Exits with 1 when a tolerance is exceeded.
 */
import { join } from "node:path";
import { ROOT, runTool } from "./native-tool.ts";

const args = process.argv.slice(2);
const folderGiven = args.some((arg, i) => !arg.startsWith("--") && !args[i - 1]?.startsWith("--"));
const { status } = await runTool(
  "sonant_parity",
  folderGiven ? args : [join(ROOT, "native/test/fixtures"), ...args],
);
process.exitCode = status;
