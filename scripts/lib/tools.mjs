/** Finds the programs a command needs and says in one sentence which are missing. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Problem } from "./problem.mjs";

/**
 * @typedef {{ name: string, commands: string[], debian: string }} Tool
 * `commands` are alternatives: one of them is enough. `debian` is the package that brings the first.
 */

/**
 * What a build needs.
 * @type {Tool[]}
 */
export const BUILD_TOOLS = [
  {
    name: "a C++20 compiler",
    commands: [...(process.env.CXX ? [process.env.CXX] : []), "c++", "g++", "clang++"],
    debian: "g++",
  },
  { name: "CMake", commands: ["cmake"], debian: "cmake" },
  { name: "make or Ninja", commands: ["make", "ninja"], debian: "make" },
];

/** The end-to-end tests drive this browser. */
export const BROWSER = {
  name: "Chromium",
  commands: [
    ...(process.env.SONANT_CHROMIUM ? [process.env.SONANT_CHROMIUM] : []),
    ...["chromium", "chromium-browser", "google-chrome"],
  ],
  debian: "chromium",
};

/**
 * Tests of audio compare with SoX and let pocketsphinx listen; they skip where these are missing.
 * @type {Tool[]}
 */
export const SOUND_TOOLS = [
  {
    name: "pocketsphinx",
    commands: ["pocketsphinx_batch", "pocketsphinx"],
    debian: "pocketsphinx pocketsphinx-en-us",
  },
  { name: "SoX", commands: ["sox"], debian: "sox" },
];

/**
 * The full path of an executable, or undefined.
 * @param {string} command a name to look up in PATH, or a path
 * @param {string} [path] the search path
 * @returns {string | undefined}
 */
export function which(command, path = process.env.PATH ?? "") {
  const candidates = command.includes("/")
    ? [command]
    : path.split(delimiter).map((folder) => join(folder, command));
  return candidates.find(isExecutable);
}

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * The tools of a list that PATH does not hold.
 * @param {Tool[]} tools
 * @param {string} [path]
 */
export function missingTools(tools, path) {
  return tools.filter((tool) => !tool.commands.some((command) => which(command, path)));
}

/**
 * Throws one sentence naming every missing tool and how Debian installs them.
 * @param {Tool[]} tools
 * @param {string} [path]
 */
export function requireTools(tools, path) {
  const missing = missingTools(tools, path);
  if (missing.length === 0) return;
  const names = missing.map((tool) => tool.name).join(", ");
  const packages = missing.map((tool) => tool.debian).join(" ");
  throw new Problem(
    `Sonant needs ${names}: install it first (Debian: apt-get install ${packages}).`,
  );
}

/**
 * Throws one sentence when this Node is older than the version in package.json's `engines`.
 * @param {string} wanted such as ">=20.9"
 * @param {string} [current]
 */
export function requireNode(wanted, current = process.versions.node) {
  const minimum = parts(wanted);
  const found = parts(current);
  const older =
    found.major < minimum.major || (found.major === minimum.major && found.minor < minimum.minor);
  if (older) {
    throw new Problem(
      `Sonant needs Node ${minimum.major}.${minimum.minor} or newer and this is Node ${current}.`,
    );
  }
}

/** @param {string} version */
function parts(version) {
  const [major = 0, minor = 0] = version
    .replace(/^[^0-9]*/, "")
    .split(".")
    .map(Number);
  return { major, minor };
}
