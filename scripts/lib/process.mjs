/** Child processes as promises: captured line by line, or with the terminal handed through. */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { createInterface } from "node:readline";
import { Problem } from "./problem.mjs";
import { ROOT } from "./root.mjs";

/**
 * Runs a program, hands every output line to `onLine`, and resolves to its exit status.
 * @param {string} command
 * @param {string[]} args
 * @param {{ onLine?: (line: string) => void, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<number>}
 */
export function runLines(command, args, { onLine = () => {}, env = process.env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", onLine);
    }
    child.on("error", (error) =>
      reject(new Problem(`${command} could not start: ${error.message}`)),
    );
    child.on("close", (code) => resolve(code ?? 1));
  });
}

/**
 * Runs a program that prints what it does, and fails with one sentence and its last lines if it fails.
 * @param {string} what what fails, for the sentence
 * @param {string} command
 * @param {string[]} args
 * @param {{ onLine?: (line: string) => void, env?: NodeJS.ProcessEnv, tail?: number }} [options]
 */
export async function runOrFail(what, command, args, { onLine, tail = 40, ...options } = {}) {
  /** @type {string[]} */
  const lines = [];
  const code = await runLines(command, args, {
    ...options,
    onLine(line) {
      lines.push(line);
      if (lines.length > tail) lines.shift();
      onLine?.(line);
    },
  });
  if (code !== 0)
    throw new Problem(`${what} failed with status ${code}; the last lines are above.`, lines);
}

/**
 * Runs a program on this terminal. Signals sent to this process reach the child, and the child's end is ours:
 * resolves to its exit status, or to 128 + the signal's number.
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<number>}
 */
export function runAttached(command, args, { cwd = ROOT, env = process.env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: "inherit" });
    const signals = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);
    const handlers = signals.map((signal) => {
      const forward = () => child.kill(signal);
      process.on(signal, forward);
      return () => process.off(signal, forward);
    });
    const release = () => {
      for (const off of handlers) off();
    };
    child.on("error", (error) => {
      release();
      reject(new Problem(`${command} could not start: ${error.message}`));
    });
    child.on("close", (code, signal) => {
      release();
      resolve(code ?? 128 + (signal ? constants.signals[signal] : 1));
    });
  });
}

/**
 * The arguments that make Node run a TypeScript file of this repository, worker threads included.
 * @param {string} file relative to the root
 * @param {string[]} args
 */
export function typescriptArguments(file, args) {
  return ["--import", import.meta.resolve("tsx"), `${ROOT}/${file}`, ...args];
}
