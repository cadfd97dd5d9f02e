/** A Dockerfile's instructions and what is wrong with them: the rules of hadolint that matter here, where there is none. */

/**
 * @typedef {{ name: string, rest: string }} Instruction
 * @typedef {{ name: string, base: string, instructions: Instruction[] }} Stage
 */

/**
 * The stages of a Dockerfile in order, each with its instructions; comments are gone and continued lines joined.
 * @param {string} text
 * @returns {Stage[]}
 */
export function stagesOf(text) {
  const lines = text
    .split("\n")
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join("\n")
    .replace(/\\\n\s*/g, "")
    .split("\n");
  /** @type {Stage[]} */
  const stages = [];
  for (const line of lines) {
    const [, name = "", rest = ""] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    const [, base, stage] = /^FROM\s+(\S+)(?:\s+AS\s+(\S+))?$/i.exec(line) ?? [];
    if (base !== undefined) stages.push({ name: stage ?? base, base, instructions: [] });
    else stages.at(-1)?.instructions.push({ name: name.toUpperCase(), rest });
  }
  return stages;
}

/**
 * Everything that a stage does, what it was made from included, as far as that is in the same file.
 * @param {Stage[]} stages
 * @param {string} name
 * @returns {Instruction[]}
 */
export function inherited(stages, name) {
  const stage = stages.find((candidate) => candidate.name === name);
  if (stage === undefined) return [];
  return [...inherited(stages, stage.base), ...stage.instructions];
}

/**
 * What is wrong, one sentence each.
 * @param {string} text of the Dockerfile
 * @param {{ targets: string[], exists: (path: string) => boolean }} options `targets` are the stages that are images;
 * `exists` tells whether a path is in the build context
 * @returns {string[]}
 */
export function dockerfileProblems(text, { targets, exists }) {
  const stages = stagesOf(text);
  const names = stages.map(({ name }) => name);
  const problems = stages
    .map(({ base }) => base)
    .filter((base) => !names.includes(base) && !/:[\w.-]*\d[\w.-]*$|@sha256:/.test(base))
    .map((base) => `${base} has no tag that stays what it is`);
  for (const { instructions } of stages) {
    for (const { name, rest } of instructions) {
      if (name === "ADD") problems.push(`ADD ${rest}: COPY says what it does`);
      if (name === "COPY") problems.push(...copyProblems(rest, names, exists));
      if (name === "RUN") problems.push(...runProblems(rest));
      if (/^(CMD|ENTRYPOINT)$/.test(name) && !isExecForm(rest))
        problems.push(`${name} ${rest}: a shell stands between it and its signals`);
      if (/^(ENV|ARG)$/.test(name) && /(secret|token|password|api_?key)\w*=\S/i.test(rest))
        problems.push(`${name} ${rest}: an image is no place for secrets`);
    }
  }
  return [...problems, ...targets.flatMap((target) => targetProblems(stages, target))];
}

/** @param {string} rest */
function isExecForm(rest) {
  try {
    return Array.isArray(JSON.parse(rest));
  } catch {
    return false;
  }
}

/**
 * @param {string} rest
 * @param {string[]} stages
 * @param {(path: string) => boolean} exists
 */
function copyProblems(rest, stages, exists) {
  const words = rest.split(/\s+/);
  const from = words.find((word) => word.startsWith("--from="))?.slice("--from=".length);
  if (from !== undefined)
    return stages.includes(from) ? [] : [`COPY --from=${from}: no such stage`];
  const sources = words.filter((word) => !word.startsWith("--")).slice(0, -1);
  return sources.filter((path) => !exists(path)).map((path) => `COPY ${path}: there is none`);
}

/** @param {string} rest */
function runProblems(rest) {
  if (!/apt-get install/.test(rest)) return [];
  const wanted = ["apt-get update", "--no-install-recommends", "rm -rf /var/lib/apt/lists/*"];
  return wanted.filter((part) => !rest.includes(part)).map((part) => `RUN ${rest}: no ${part}`);
}

/**
 * @param {Stage[]} stages
 * @param {string} target
 */
function targetProblems(stages, target) {
  const instructions = inherited(stages, target);
  const last = (/** @type {string} */ name) =>
    instructions.filter((instruction) => instruction.name === name).at(-1)?.rest;
  const user = last("USER");
  const wanted = ["CMD", "HEALTHCHECK", "STOPSIGNAL", "EXPOSE"];
  return [
    ...(user !== undefined && /^[1-9]\d{3,}:[1-9]\d{3,}$/.test(user)
      ? []
      : [`${target}: USER has to be a uid and a gid, and not root's`]),
    ...wanted.filter((name) => last(name) === undefined).map((name) => `${target}: no ${name}`),
  ];
}
