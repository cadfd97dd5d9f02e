/**
 * Builds the playground's pages with Next when they are missing or older than their sources. What a build was made from
 * is kept beside it as one hash, so a checkout of another commit is noticed even where file times lie.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runOrFail } from "./process.mjs";
import { ROOT } from "./root.mjs";

const NEXT = join(ROOT, "node_modules/next/dist/bin/next");
const STAMP = join(ROOT, ".next/sonant-sources");
/** Everything the pages are made from. */
const SOURCES = [
  "app",
  "components",
  "server/protocol",
  "next.config.js",
  "postcss.config.mjs",
  "tsconfig.json",
  "package-lock.json",
];

/**
 * Names and contents of all source files, tests left out, as one hash.
 * @param {string} root
 * @param {readonly string[]} sources files and folders under `root`
 */
export function hashSources(root, sources = SOURCES) {
  const hash = createHash("sha256");
  for (const path of sources.flatMap((source) => filesOf(root, source)).sort()) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update("\0");
  }
  return hash.digest("hex");
}

/**
 * @param {string} root
 * @param {string} path
 * @returns {string[]}
 */
function filesOf(root, path) {
  const found = statSync(join(root, path), { throwIfNoEntry: false });
  if (found === undefined || /\.test\.tsx?$|(^|\/)fixtures$/.test(path)) return [];
  if (!found.isDirectory()) return [path];
  return readdirSync(join(root, path)).flatMap((name) => filesOf(root, `${path}/${name}`));
}

/**
 * Builds the pages if they do not match their sources.
 * @param {(text: string) => void} say
 */
export async function buildPages(say) {
  const wanted = hashSources(ROOT);
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === wanted) return;
  const started = Date.now();
  say("Building the playground's pages (next build) …");
  rmSync(STAMP, { force: true });
  await runOrFail("Building the pages", process.execPath, [NEXT, "build"], {
    tail: 60,
    env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
  });
  writeFileSync(STAMP, wanted);
  say(`Pages built in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
}
