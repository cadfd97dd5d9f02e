/**
 * `npm run bundle -- FILE.tar.xz [--native FOLDER]`: packs the server without its pages, with Node and everything else
 * that it needs, for a Linux machine that has neither Node nor a network, and `run.sh`, which measures it there. Weights
 * are not packed; see scripts/bundle/run.sh.
 */
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, extname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bootstrap } from "./bootstrap.mjs";
import { isNeeded, packageFolders, trace } from "./lib/closure.mjs";
import { BUILD_DIR } from "./lib/native.mjs";
import { Problem, runMain } from "./lib/problem.mjs";
import { runOrFail } from "./lib/process.mjs";
import { ROOT } from "./lib/root.mjs";
import { requireTools } from "./lib/tools.mjs";

const USAGE = `
npm run bundle -- FILE.tar.xz [--native FOLDER]

  Packs the server, Node, the engine and the load test into one file for a Linux machine without Node and network.
  There: tar -xf FILE.tar.xz && sonant/run.sh --help

  --native FOLDER   a CMake build of native/ to take the engine from; without it, native/build, which is built first.
                    SONANT_CUDA decides which GPUs that is for, as in npm start: SONANT_CUDA=90 npm run bundle -- FILE`;

const ENTRIES = [
  ...["server/main.ts", "server/cli/bench.ts", "server/cli/eval.ts"],
  ...["server/cli/model.ts", "server/cli/stress.ts"],
  // Started as a process, and named by no import.
  "server/stress/node/worker.ts",
];
/** Loads the TypeScript, and is named by no import. */
const LOADER = "tsx";
/** Only the pages need it, and those are left out. */
const PAGES = "next";
const PROGRAMS = ["sonant_model", "sonant_bench", "sonant_parity"];
const CUDA_LIBRARY = "libsonant_cuda.so";
const FILES = [
  ...["package.json", "tsconfig.json", "LICENSE", "NOTICE"],
  ...["deploy/moss-tts-nano.yaml", "deploy/starter.yaml", "native/shapes"],
];
const STARTER = "native/models/starter";

/**
 * @param {string} folder to fill
 * @param {string} native build folder of the engine
 */
async function fill(folder, native) {
  /** @type {(path: string, filter?: (path: string) => boolean) => void} */
  const copy = (path, filter = () => true) =>
    cpSync(join(ROOT, path), join(folder, path), { recursive: true, filter });
  const { files, packages } = trace(ENTRIES);
  for (const file of [...files, ...FILES]) copy(file);
  // Tokenizer, voices and configurations, which any weights of the family can do with.
  copy(STARTER, (path) => extname(path) !== ".safetensors");
  packages.delete(PAGES);
  for (const path of packageFolders([...packages, LOADER])) copy(relative(ROOT, path), isNeeded);

  const build = join(folder, "native/build");
  mkdirSync(build);
  const programs = [...PROGRAMS, "sonant.node", CUDA_LIBRARY].map((name) => join(native, name));
  const stripped = programs
    .filter((path) => existsSync(path))
    .map((path) => join(build, basename(path)));
  for (const path of stripped) cpSync(join(native, basename(path)), path);
  const missing = programs.filter((path) => !existsSync(path) && basename(path) !== CUDA_LIBRARY);
  if (missing.length > 0) throw new Problem(`${missing[0]} has not been built.`);
  const node = join(folder, "node");
  cpSync(process.execPath, node);
  await runOrFail("Stripping", "strip", ["-s", node, ...stripped]);

  cpSync(join(ROOT, "scripts/bundle/run.sh"), join(folder, "run.sh"));
  chmodSync(join(folder, "run.sh"), 0o755);
  return existsSync(join(build, CUDA_LIBRARY));
}

await runMain(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { native: { type: "string" } },
  });
  const [name, ...rest] = positionals;
  if (name === undefined || rest.length > 0) throw new Problem(USAGE.trim());
  requireTools([
    { name: "strip", commands: ["strip"], debian: "binutils" },
    { name: "xz", commands: ["xz"], debian: "xz-utils" },
  ]);
  const from = process.env.INIT_CWD ?? process.cwd();
  await bootstrap({ targets: values.native === undefined ? [] : undefined });
  const native = values.native === undefined ? BUILD_DIR : resolve(from, values.native);
  const file = resolve(from, name);
  const work = mkdtempSync(join(tmpdir(), "sonant-bundle-"));
  try {
    const hasCuda = await fill(join(work, "sonant"), native);
    console.log(`Packing ${file} …`);
    const env = { ...process.env, XZ_OPT: "-9e" };
    await runOrFail("Packing", "tar", ["-C", work, "-cJf", file, "sonant"], { env });
    const megabytes = (statSync(file).size / 1e6).toFixed(1);
    console.log(`${file}: ${megabytes} MB, ${hasCuda ? "with" : "without"} the CUDA backend`);
  } finally {
    rmSync(work, { recursive: true });
  }
  return 0;
});
