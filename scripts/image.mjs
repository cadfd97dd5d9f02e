/**
 * `node scripts/image.mjs FOLDER`: puts the built server and its pages into an empty folder, with the packages that it
 * needs where it runs and nothing else: the last step before a container image (deploy/docker/Dockerfile). There,
 * `node --import tsx server/main.ts` starts it. Builds nothing itself.
 */
import { cpSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { isNeeded } from "./lib/closure.mjs";
import { imageContents } from "./lib/image-contents.mjs";
import { Problem, runMain } from "./lib/problem.mjs";
import { ROOT } from "./lib/root.mjs";

await runMain(async () => {
  const [name, ...rest] = process.argv.slice(2);
  if (name === undefined || rest.length > 0)
    throw new Problem("Usage: node scripts/image.mjs FOLDER");
  const folder = resolve(process.env.INIT_CWD ?? process.cwd(), name);
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new Problem(`${folder} is not empty; name an empty or a new folder.`);
  }
  const { files, built, builtIfAny, packages } = imageContents();
  const missing = [...files, ...built].find((path) => !existsSync(join(ROOT, path)));
  if (missing !== undefined) throw new Problem(`${missing} is missing; run npm run build first.`);

  /** @type {(path: string, filter?: (path: string) => boolean) => void} */
  const copy = (path, filter = () => true) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(ROOT, path), join(folder, path), { recursive: true, filter });
  };
  for (const path of [...files, ...built]) copy(path, isNotCache);
  for (const path of builtIfAny.filter((path) => existsSync(join(ROOT, path)))) copy(path);
  for (const path of packages) copy(path, isNeeded);
  return 0;
});

/**
 * Next's cache of compilations is of no use once the pages are built.
 * @param {string} path
 */
function isNotCache(path) {
  return relative(ROOT, path) !== ".next/cache";
}
