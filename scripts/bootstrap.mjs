/**
 * Makes a checkout ready to run: checks the tools, installs the locked packages, builds what is stale. Depends on
 * nothing but Node, because it runs before anything is installed. Quiet when there is nothing to do.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { withLock } from "./lib/lock.mjs";
import { BUILD_LOCK, buildNative } from "./lib/native.mjs";
import { ensurePackages } from "./lib/packages.mjs";
import { buildPages } from "./lib/pages.mjs";
import { ROOT } from "./lib/root.mjs";
import { BUILD_TOOLS, requireNode, requireTools } from "./lib/tools.mjs";

/** What the server and the command line need; the tests also build everything else. */
export const RUNTIME_TARGETS = ["sonant_addon"];

/**
 * @param {{ targets?: string[] | undefined, pages?: boolean, out?: NodeJS.WriteStream }} [options]
 * `targets` are CMake targets, empty for all, undefined for no native build; `pages` builds the playground too; `out` is
 * where progress goes
 */
export async function bootstrap({ targets, pages = false, out = process.stdout } = {}) {
  const say = (/** @type {string} */ text) => out.write(`${text}\n`);
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  requireNode(manifest.engines.node);
  if (targets) requireTools(BUILD_TOOLS);
  await withLock(
    BUILD_LOCK,
    async () => {
      await ensurePackages(say);
      if (targets) await buildNative({ targets, out, say });
      if (pages) await buildPages(say);
    },
    () => say("Another command is installing or building here; waiting for it …"),
  );
}
