/** Configures and builds the native engine with plain CMake into native/build; CMake itself knows what is stale. */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { runOrFail } from "./process.mjs";
import { progressPrinter } from "./progress.mjs";
import { ROOT } from "./root.mjs";

export const SOURCE_DIR = join(ROOT, "native");
export const BUILD_DIR = join(ROOT, "native/build");
export const BUILD_LOCK = join(BUILD_DIR, ".lock");

/**
 * Which CUDA code to build: `SONANT_CUDA` ("off", "native", "all" or architectures as CMake names them). Unset, the code
 * for this machine's GPUs where there is one and CUDA's compiler is found, otherwise none.
 */
function cudaSetting() {
  const wanted = process.env.SONANT_CUDA;
  if (wanted !== undefined && wanted !== "") return wanted === "off" ? "OFF" : wanted;
  const hasCompiler = (process.env.PATH ?? "")
    .split(":")
    .some((folder) => existsSync(join(folder, "nvcc")));
  return hasCompiler && existsSync("/dev/nvidia0") ? "native" : "OFF";
}

const SETTINGS = {
  SONANT_CUDA: cudaSetting(),
  CMAKE_BUILD_TYPE: "Release",
  NODE_API_INCLUDE: join(ROOT, "node_modules/node-api-headers/include"),
  NODE_ADDON_API_INCLUDE: join(ROOT, "node_modules/node-addon-api"),
};

/**
 * Builds targets of the native project, printing progress.
 * @param {{ targets: string[], out: NodeJS.WriteStream, say: (text: string) => void }} options
 * `targets` empty means everything
 */
export async function buildNative({ targets, out, say }) {
  const started = Date.now();
  if (!isConfigured()) {
    forgetForeignCache();
    say("Configuring the native engine …");
    await runOrFail("Configuring the native engine", "cmake", [
      ...["-S", SOURCE_DIR, "-B", BUILD_DIR],
      ...Object.entries(SETTINGS).map(([name, value]) => `-D${name}=${value}`),
    ]);
  }
  const progress = progressPrinter("Building the native engine", out);
  const jobs = process.env.CMAKE_BUILD_PARALLEL_LEVEL ?? String(availableParallelism());
  const targetArguments = targets.length > 0 ? ["--target", ...targets] : [];
  try {
    await runOrFail(
      "Building the native engine",
      "cmake",
      ["--build", BUILD_DIR, "--parallel", jobs, ...targetArguments],
      { onLine: progress.line },
    );
  } finally {
    if (progress.end()) {
      say(`Native build took ${((Date.now() - started) / 1000).toFixed(1)} s.`);
    }
  }
}

/** Whether CMake has configured this very folder with our settings. From then on the build itself reconfigures. */
function isConfigured() {
  const cache = readCache();
  const entries = Object.entries({ ...SETTINGS, CMAKE_HOME_DIRECTORY: SOURCE_DIR });
  const generated =
    existsSync(join(BUILD_DIR, "Makefile")) || existsSync(join(BUILD_DIR, "build.ninja"));
  return generated && entries.every(([name, value]) => cache.get(name) === value);
}

/** A cache made for another folder (a moved or copied checkout) makes CMake refuse; start afresh instead. */
function forgetForeignCache() {
  const home = readCache().get("CMAKE_HOME_DIRECTORY");
  if (home === undefined || home === SOURCE_DIR) return;
  for (const name of readdirSync(BUILD_DIR)) {
    if (join(BUILD_DIR, name) !== BUILD_LOCK) rmSync(join(BUILD_DIR, name), { recursive: true });
  }
}

/** The variables of CMakeCache.txt; empty when there is none. */
function readCache() {
  const file = join(BUILD_DIR, "CMakeCache.txt");
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const entries = text.matchAll(/^([A-Za-z_]+):[A-Z]+=(.*)$/gm);
  return new Map(Array.from(entries, ([, name = "", value = ""]) => [name, value]));
}
