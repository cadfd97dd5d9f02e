/**
 * Renders a kustomization as far as this repository uses one: resources, components, generated ConfigMaps, namespaces,
 * strategic merges and JSON patches that add. For checks only, where there is no kustomize; whatever it does not know is
 * an error.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, join, normalize } from "node:path";
import { ROOT } from "./root.mjs";
import { readYaml } from "./yaml-files.mjs";

/** @typedef {import("./yaml-files.mjs").YamlValue} KubernetesObject */

const KEYS = new Set(
  "apiVersion kind namespace labels resources components configMapGenerator patches".split(" "),
);
/** By which member Kubernetes takes two items of a list for the same one. */
const ITEM_KEYS = new Map([
  ["containers", "name"],
  ["env", "name"],
  ["volumes", "name"],
  ["volumeMounts", "mountPath"],
  ["ports", "containerPort"],
]);

/**
 * The objects of a folder with a kustomization.yaml.
 * @param {string} folder relative to the root
 * @param {KubernetesObject[]} [given] objects so far, for a component
 * @returns {KubernetesObject[]}
 * @throws Error that names what is missing or not known
 */
export function render(folder, given = []) {
  const [kustomization] = readYaml(`${folder}/kustomization.yaml`);
  const strange = Object.keys(kustomization).find((key) => !KEYS.has(key));
  if (strange !== undefined) throw new Error(`${folder}: ${strange} is not known to this check`);
  const path = (/** @type {string} */ name) => normalize(`${folder}/${name}`);

  const objects = [...given];
  for (const name of kustomization.resources ?? []) {
    const resource = path(name);
    if (!existsSync(join(ROOT, resource))) throw new Error(`${folder}: there is no ${name}`);
    objects.push(...(name.endsWith(".yaml") ? readYaml(resource) : render(resource)));
  }
  for (const generator of kustomization.configMapGenerator ?? [])
    generate(objects, generator, path);
  const all = (kustomization.components ?? []).reduce(
    (/** @type {KubernetesObject[]} */ before, /** @type {string} */ name) =>
      render(path(name), before),
    objects,
  );
  for (const patch of kustomization.patches ?? []) apply(all, patch, path, folder);
  for (const object of all) {
    if (kustomization.namespace && object.kind !== "Namespace")
      object.metadata.namespace = kustomization.namespace;
  }
  return all;
}

/**
 * @param {KubernetesObject[]} objects
 * @param {{ name: string, behavior?: string, files: string[] }} generator
 * @param {(name: string) => string} path
 */
function generate(objects, { name, behavior = "create", files }, path) {
  const at = objects.findIndex(
    ({ kind, metadata }) => kind === "ConfigMap" && metadata.name === name,
  );
  if ((behavior === "create") !== at < 0) throw new Error(`ConfigMap ${name}: cannot ${behavior}`);
  const data = Object.fromEntries(
    files.map((file) => [basename(file), readFileSync(join(ROOT, path(file)), "utf8")]),
  );
  const made = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
  objects.splice(at < 0 ? objects.length : at, 1, made);
}

/**
 * @param {KubernetesObject[]} objects
 * @param {{ path: string, target?: { kind: string, name: string } }} patch
 * @param {(name: string) => string} path
 * @param {string} folder
 */
function apply(objects, patch, path, folder) {
  const [content] = readYaml(path(patch.path));
  const target = patch.target ?? { kind: content.kind, name: content.metadata.name };
  const at = objects.findIndex(
    ({ kind, metadata }) => kind === target.kind && metadata.name === target.name,
  );
  if (at < 0) throw new Error(`${folder}/${patch.path}: no ${target.kind} ${target.name} to patch`);
  if (!Array.isArray(content)) objects[at] = merge(objects[at], content);
  else for (const operation of content) add(objects[at], operation);
}

/**
 * @param {any} object
 * @param {{ op: string, path: string, value: unknown }} operation
 */
function add(object, { op, path, value }) {
  const steps = path.split("/").slice(1);
  const names = steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = names.pop() ?? "";
  const parent = names.reduce((inner, name) => inner?.[name], object);
  if (op !== "add" || parent === undefined) throw new Error(`cannot ${op} at ${path}`);
  if (Array.isArray(parent) && last === "-") parent.push(value);
  else parent[last] = value;
}

/**
 * @param {any} base
 * @param {any} change
 * @param {string} [key] under which both stand
 * @returns {any}
 */
function merge(base, change, key = "") {
  if (Array.isArray(base) && Array.isArray(change)) {
    const id = ITEM_KEYS.get(key);
    if (id === undefined) return change;
    const changed = base.map((item) => {
      const other = change.find((candidate) => candidate[id] === item[id]);
      return other === undefined ? item : merge(item, other);
    });
    const isNew = (/** @type {any} */ item) => !base.some((known) => known[id] === item[id]);
    return [...changed, ...change.filter(isNew)];
  }
  const bothTables = [base, change].every(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  );
  if (!bothTables) return change;
  const merged = { ...base };
  for (const [name, value] of Object.entries(change)) {
    if (value === null) delete merged[name];
    else merged[name] = name in merged ? merge(merged[name], value, name) : value;
  }
  return merged;
}
