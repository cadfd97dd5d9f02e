/** The YAML files of a folder, read the way their readers do: every document, merge keys included. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { ROOT } from "./root.mjs";

/** @typedef {any} YamlValue what a file says, unchecked: whoever reads it looks at what is there */

/**
 * Files below a folder, relative to the root.
 * @param {string} folder relative to the root
 * @returns {string[]}
 */
export function filesBelow(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/**
 * All documents of a file.
 * @param {string} file relative to the root
 * @returns {YamlValue[]}
 * @throws Error that names the file and the place
 */
export function readYaml(file) {
  const documents = parseAllDocuments(readFileSync(join(ROOT, file), "utf8"), { merge: true });
  return [...documents].map((document) => {
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw new Error(`${file}: ${problem.message}`);
    return document.toJS();
  });
}
