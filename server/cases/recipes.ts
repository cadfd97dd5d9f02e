/**
 * Files that a case makes first: its recipe is run by a shell in a folder of the case's own, with base.wav beside it.
 * Recipes come from the case file and are trusted like any other code of the repository. What only ffmpeg could make, and
 * ffmpeg is not there, is made by `own-clips.ts`.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { NotRunnable } from "./check.ts";
import { ownClip } from "./own-clips.ts";

const run = promisify(execFile);
const BASE = "base.wav";
const TIMEOUT_MS = 60_000;

/** "sox base.wav r_$r.wav # for r in 8000 16000": the command, and what it is run for. */
interface Loop {
  readonly command: string;
  readonly variable?: string;
  readonly values: readonly string[];
}

function readLoop(recipe: string): Loop {
  const [, command = recipe, variable, values] =
    /^(.*?)\s*# for (\w+) in (.*)$/s.exec(recipe) ?? [];
  if (variable === undefined) return { command, values: [""] };
  return { command, variable, values: (values ?? "").trim().split(/\s+/) };
}

/** The clips of a whole run share base.wav, which takes the longest to make. */
export class RecipeBook {
  #base: Promise<Buffer> | undefined;

  constructor(private readonly baseRecipe: string) {}

  /** base.wav, made on first use. */
  base(): Promise<Buffer> {
    this.#base ??= this.#makeBase();
    return this.#base;
  }

  async #makeBase(): Promise<Buffer> {
    const folder = await mkdtemp(join(tmpdir(), "sonant-clip-"));
    try {
      await shell(this.baseRecipe, folder);
      return await readFile(join(folder, BASE));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** The files of one case. */
export class Clips {
  /** Values of the variables that recipes were run for, such as the rates of `$r`. */
  readonly loops = new Map<string, readonly string[]>();
  /** Sizes in bytes of the files that were read. */
  readonly sizes: number[] = [];
  #folder: string | undefined;

  constructor(private readonly book: RecipeBook) {}

  /**
   * Makes the file of a recipe, or several if it is run for several values.
   * @throws NotRunnable when a program is missing
   */
  async make(name: string, recipe: string): Promise<void> {
    const folder = await this.#open();
    const { command, variable, values } = readLoop(recipe);
    if (variable !== undefined) this.loops.set(variable, values);
    for (const value of values) {
      const fill = (text: string) =>
        variable === undefined ? text : text.replaceAll(`$${variable}`, value);
      const target = fill(name);
      if (/\bffmpeg\b/.test(command) && !existsOnPath("ffmpeg")) {
        const made = await ownClip(fill(command), await this.book.base());
        if (made === undefined)
          throw new NotRunnable(`${target} needs ffmpeg, which is not installed`);
        await writeFile(join(folder, target), made);
      } else await shell(fill(command), folder);
    }
  }

  /** The content of a file that was made, or of base.wav. */
  async read(name: string): Promise<Buffer> {
    const bytes = await (name === BASE
      ? this.book.base()
      : readFile(join(await this.#open(), name)));
    this.sizes.push(bytes.length);
    return bytes;
  }

  async close(): Promise<void> {
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }

  async #open(): Promise<string> {
    if (this.#folder === undefined) {
      this.#folder = await mkdtemp(join(tmpdir(), "sonant-clips-"));
      await writeFile(join(this.#folder, BASE), await this.book.base());
    }
    return this.#folder;
  }
}

function existsOnPath(program: string): boolean {
  return (process.env.PATH ?? "").split(":").some((folder) => existsSync(join(folder, program)));
}

async function shell(command: string, folder: string): Promise<void> {
  const [program = ""] = command.split(" ");
  if (program === "sox" && !existsOnPath(program)) {
    throw new NotRunnable("clips need SoX: apt-get install sox");
  }
  try {
    await run("sh", ["-c", command], { cwd: folder, timeout: TIMEOUT_MS });
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    throw new Error(`The recipe failed: ${command}\n${stderr.trim()}`);
  }
}
