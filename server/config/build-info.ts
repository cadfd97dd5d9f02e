/** Which build of the server this is: its version, and the commit if it runs from a checkout. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

export interface BuildInfo {
  readonly version: string;
  /** Undefined outside a checkout, and where there is no git. */
  readonly commit: string | undefined;
}

/** @param root of the project @param environment `SONANT_GIT_COMMIT` goes before what git says, for images without git */
export async function readBuildInfo(
  root: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<BuildInfo> {
  const manifest: unknown = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const { version } = manifest as { version: string };
  return { version, commit: environment.SONANT_GIT_COMMIT || (await commitOf(root)) };
}

async function commitOf(root: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)("git", ["rev-parse", "--short=12", "HEAD"], {
      cwd: root,
    });
    return stdout.trim() || undefined;
  } catch {
    return undefined;
  }
}
