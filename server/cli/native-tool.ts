/**
 * Runs the engine's native executables (built beside the addon) for the command line. They talk to
 * the terminal themselves; nothing of their output is interpreted here except where a caller asks.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Root of the checkout. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export interface ToolResult {
  /** Exit status; 128 + n when signal n ended it. */
  readonly status: number;
  /** What it printed, if it was captured. */
  readonly output: string;
}

/**
 * Runs `native/build/NAME` in the caller's folder.
 * @param capture collect stdout instead of passing it through
 * @throws Error when the executable is not there
 */
export function runTool(
  name: string,
  args: readonly string[],
  { capture = false } = {},
): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(join(ROOT, "native/build", name), args, {
      stdio: ["ignore", capture ? "pipe" : "inherit", "inherit"],
    });
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.on("error", (error) =>
      reject(
        new Error(`Cannot run native/build/${name}; build it with: npm run build`, {
          cause: error,
        }),
      ),
    );
    child.on("close", (code, signal) => resolve({ status: code ?? (signal ? 129 : 1), output }));
  });
}

/** Ends the command with a sentence on stderr and status 2. */
export function usage(text: string): never {
  process.stderr.write(`${text.trim()}\n`);
  process.exit(2);
}
