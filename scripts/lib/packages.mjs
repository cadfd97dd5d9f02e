/** Keeps node_modules equal to the lockfile. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runOrFail } from "./process.mjs";
import { ROOT } from "./root.mjs";

/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean, link?: boolean }} Entry
 * @typedef {{ packages: Record<string, Entry> }} Lockfile
 */

/**
 * Whether an installation matches the lockfile: npm keeps its own record of what it installed, so the two are
 * compared package by package. Optional packages may be absent (they are often for another platform).
 * @param {Lockfile} wanted package-lock.json
 * @param {Lockfile} installed node_modules/.package-lock.json
 */
export function isInstalled(wanted, installed) {
  const same = (/** @type {Entry | undefined} */ a, /** @type {Entry | undefined} */ b) =>
    a?.version === b?.version && a?.integrity === b?.integrity;
  const nothingMissing = Object.entries(wanted.packages).every(
    ([path, entry]) => path === "" || entry.optional || same(entry, installed.packages[path]),
  );
  const nothingForeign = Object.entries(installed.packages).every(([path, entry]) =>
    same(entry, wanted.packages[path]),
  );
  return nothingMissing && nothingForeign;
}

/**
 * Installs the locked packages when they are missing or differ from the lockfile.
 * @param {(text: string) => void} say
 */
export async function ensurePackages(say) {
  const wanted = readJson(join(ROOT, "package-lock.json"));
  const installed = readJson(join(ROOT, "node_modules/.package-lock.json"));
  if (wanted && installed && isInstalled(wanted, installed)) return;
  const started = Date.now();
  say("Installing packages (npm ci), about half a minute …");
  await runOrFail("Installing packages", "npm", ["ci", "--include=dev", "--loglevel=error"], {
    tail: 60,
  });
  say(`Packages installed in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
}

/**
 * @param {string} file
 * @returns {Lockfile | undefined}
 */
function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
