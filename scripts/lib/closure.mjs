/** What a program of this repository needs to run: its own files, and packages with all that those depend on. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ROOT } from "./root.mjs";

/** Names of files and packages wherever one is loaded from; workers are named by URLs, WebAssembly is resolved. */
const IMPORT = /(?:from|import|import\(|require\(|resolve\(|URL\(|\)\()\s*"([^"\n]+)"/g;
/** Of packages: what is for people and compilers. Licences stay. */
const LEFT_OUT = /\.(map|markdown|md|[cm]?ts|flow|tsbuildinfo)$/;
const FOLDERS_LEFT_OUT = new Set(["test", "tests", "docs", "examples", "benchmark", "benchmarks"]);

/**
 * The files of this repository that the entries lead to, and the packages that those name.
 * @param {string[]} entries
 */
export function trace(entries) {
  const files = new Set(entries);
  /** @type {Set<string>} */
  const packages = new Set();
  for (const file of files) {
    for (const [, name = ""] of readFileSync(join(ROOT, file), "utf8").matchAll(IMPORT)) {
      const target = join(dirname(file), name);
      if (name.startsWith(".") && statSync(join(ROOT, target), { throwIfNoEntry: false })?.isFile())
        files.add(target);
      else if (/^[@\w][\w./-]*$/.test(name)) packages.add(packageOf(name));
    }
  }
  return { files, packages };
}

/**
 * Whether a file or folder of a package is needed where it runs.
 * @param {string} path
 */
export function isNeeded(path) {
  const name = basename(path);
  if (FOLDERS_LEFT_OUT.has(name)) return false;
  return !LEFT_OUT.test(name) || /^(licen[cs]e|notice|copying)/i.test(name);
}

/** @param {string} name as it is imported, such as "@scope/name/file.js" */
function packageOf(name) {
  return name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");
}

/**
 * Folders of packages and of all that they depend on, where npm has put them.
 * @param {Iterable<string>} names
 */
export function packageFolders(names) {
  /** @type {Set<string>} */
  const folders = new Set();
  /** @type {(name: string, from: string) => void} */
  const add = (name, from) => {
    const folder = findPackage(name, from);
    if (folder === undefined || folders.has(folder)) return;
    folders.add(folder);
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const needed = { ...manifest.dependencies, ...manifest.optionalDependencies };
    for (const dependency of Object.keys(needed)) add(dependency, folder);
  };
  for (const name of names) add(name, ROOT);
  return folders;
}

/**
 * Undefined of optional packages for other systems, and of names that are none.
 * @param {string} name
 * @param {string} from
 * @returns {string | undefined}
 */
function findPackage(name, from) {
  const folder = join(from, "node_modules", name);
  if (existsSync(join(folder, "package.json"))) return folder;
  return from === ROOT ? undefined : findPackage(name, dirname(from));
}
