/**
 * Speech recognition for measuring: Debian's pocketsphinx with its US English model, run once over a batch of files. An
 * independent ear, far from perfect, so its word error rate only means something beside another one.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MODEL = "/usr/share/pocketsphinx/model/en-us";
const SAMPLE_RATE = 16_000;

/** Why recognition is impossible here, or undefined. */
export function recogniserMissing(): string | undefined {
  if (existsSync("/usr/bin/pocketsphinx_batch") && existsSync(MODEL)) return undefined;
  return "Word error rates need pocketsphinx: apt-get install pocketsphinx pocketsphinx-en-us";
}

/** Rate that `recognise` expects. */
export const RECOGNISER_HZ = SAMPLE_RATE;

/**
 * Words of each recording (mono, 16 kHz, -1 to 1), lower case.
 * @param expected what can have been said, as the right side of a JSGF rule; without it anything
 * @throws Error with pocketsphinx's last lines when it fails
 */
export async function recognise(
  recordings: readonly Float32Array[],
  expected?: string,
): Promise<string[][]> {
  const folder = await mkdtemp(join(tmpdir(), "sonant-recognise-"));
  try {
    const names = recordings.map((_, i) => `${i}`);
    for (const [i, samples] of recordings.entries()) {
      const pcm = Int16Array.from(samples, (x) => Math.max(-32768, Math.min(32767, x * 32767)));
      await writeFile(join(folder, `${i}.raw`), new Uint8Array(pcm.buffer));
    }
    await writeFile(join(folder, "list"), `${names.join("\n")}\n`);
    const grammar = join(folder, "grammar");
    if (expected !== undefined) {
      await writeFile(grammar, `#JSGF V1.0;\ngrammar expected;\npublic <all> = ${expected};\n`);
    }
    await run([
      ...(expected === undefined ? ["-lm", join(MODEL, "en-us.lm.bin")] : ["-jsgf", grammar]),
      ...["-adcin", "yes", "-adchdr", "0", "-cepdir", folder, "-cepext", ".raw"],
      ...["-ctl", join(folder, "list"), "-hyp", join(folder, "hypotheses")],
      ...["-hmm", join(MODEL, "en-us"), "-dict", join(MODEL, "cmudict-en-us.dict")],
      ...["-samprate", `${SAMPLE_RATE}`],
      ...["-logfn", join(folder, "log")],
    ]);
    const words = new Map<string, string[]>();
    for (const line of (await readFile(join(folder, "hypotheses"), "utf8")).split("\n")) {
      const match = /^(.*) \((\d+) [-\d.]+\)$/.exec(line);
      if (match?.[1] !== undefined && match[2]) words.set(match[2], split(match[1]));
    }
    return names.map((name) => words.get(name) ?? []);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("pocketsphinx_batch", args, { stdio: ["ignore", "ignore", "pipe"] });
    let tail = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      tail = (tail + text).slice(-2000);
    });
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`pocketsphinx ended with status ${code}: ${tail}`)),
    );
  });
}

/** Words of a text as a recogniser would write them: lower case, apostrophes kept, nothing else. */
export function split(text: string): string[] {
  const plain = text
    .toLowerCase()
    .replaceAll("\u2019", "'")
    .replaceAll(/[^a-z' ]+/g, " ");
  return plain.split(/\s+/).filter((word) => /[a-z]/.test(word));
}

/** Insertions, deletions and substitutions that turn `wanted` into `heard`, at the least. */
export function wordErrors(wanted: readonly string[], heard: readonly string[]): number {
  let row = heard.map((_, j) => j + 1);
  for (const [i, word] of wanted.entries()) {
    let diagonal = i;
    let left = i + 1;
    row = row.map((above, j) => {
      const best = Math.min(above + 1, left + 1, diagonal + (word === heard[j] ? 0 : 1));
      diagonal = above;
      left = best;
      return best;
    });
  }
  return row.at(-1) ?? wanted.length;
}
