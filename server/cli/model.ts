/**
 * `npm run model -- COMMAND`: makes and inspects model folders.
 *
 *   random SHAPE [-o FOLDER] [--dtype bf16|f32|int8] [--seed N]
 *                            a model of that shape with random weights, for measuring and testing; it speaks noise for as
 *                            long as its text allows. A shape is a name (moss-tts-nano) or a folder with lm/config.json and
 *                            codec/config.json; its tokenizer and voices come along, or the starter's where they fit
 *   convert IN OUT [--dtype keep|bf16|f32|int8]
 *                            a model folder, checkpoint folder or file of weights, as downloaded (safetensors or
 *                            PyTorch, in one file or in several), with one model.safetensors a checkpoint; int8 is for
 *                            the language model only, the codec stays
 *   quantise IN OUT          the int8 form of a model folder (language model only; the codec stays)
 *   info FOLDER              what a model folder holds
 *   pull moss-tts-nano       fetches the official model (model-pull.ts)
 *   list, verify, remove     what models are here, whether they are whole, and how one is got rid of (model-care.ts)
 */

import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { CARE_USAGE, listCommand, removeCommand, verifyCommand } from "./model-care.ts";
import { PULL_USAGE, pullCommand } from "./model-pull.ts";
import { ROOT, runTool, usage } from "./native-tool.ts";

const USAGE = `
npm run model -- random moss-tts-nano|SHAPE_FOLDER [-o FOLDER] [--dtype bf16|f32|int8] [--seed N]
npm run model -- convert IN OUT [--dtype keep|bf16|f32|int8]
npm run model -- quantise IN OUT
npm run model -- info FOLDER${PULL_USAGE}${CARE_USAGE}`;

const SHAPES = join(ROOT, "native/shapes");
const STARTER = join(ROOT, "native/models/starter");

async function tool(...args: string[]): Promise<void> {
  const { status } = await runTool("sonant_model", args);
  if (status !== 0) process.exit(status);
}

/** The folder of a shape: one of ours by its name, or any that holds the two configs. */
async function shapeFolder(shape: string): Promise<string> {
  const hasConfigs = (folder: string) =>
    ["lm", "codec"].every((part) => existsSync(join(folder, part, "config.json")));
  const folder = [join(SHAPES, shape), resolve(shape)].find(hasConfigs);
  if (folder !== undefined) return folder;
  const known = (await readdir(SHAPES)).sort().join(", ");
  return usage(
    `There is no shape '${shape}'; give a folder with lm/config.json and codec/config.json, or one of: ${known}`,
  );
}

/** Pieces and codebooks of a language model whose config the engine has read. */
async function sizesOf(lmFolder: string): Promise<{ vocabulary: number; books: number[] }> {
  const config = JSON.parse(await readFile(join(lmFolder, "config.json"), "utf8"));
  const { n_vq, audio_vocab_size, audio_codebook_sizes, gpt2_config } = config;
  const books = audio_codebook_sizes ?? Array.from({ length: n_vq }, () => audio_vocab_size);
  return { vocabulary: gpt2_config.vocab_size, books };
}

/** Gives a model without a tokenizer or voices the starter's, if its vocabulary holds their ids and its codebooks their codes. */
async function borrow(folder: string): Promise<void> {
  const own = await sizesOf(join(folder, "lm"));
  const starter = await sizesOf(join(STARTER, "lm"));
  const hasCodes =
    own.books.length === starter.books.length &&
    starter.books.every((size, book) => size <= (own.books[book] as number));
  for (const [what, fits] of [
    ["lm/tokenizer.model", starter.vocabulary <= own.vocabulary],
    ["voices", hasCodes],
  ] as const) {
    if (existsSync(join(folder, what))) continue;
    if (fits) await cp(join(STARTER, what), join(folder, what), { recursive: true });
    else process.stderr.write(`${what}: the starter's do not fit this shape and are left out.\n`);
  }
}

/** A model folder of a shape with random weights. */
async function random(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      output: { type: "string", short: "o" },
      dtype: { type: "string", default: "bf16" },
      seed: { type: "string", default: "1" },
    },
  });
  const [shape, ...rest] = positionals;
  if (shape === undefined || rest.length > 0) usage(USAGE);
  const from = await shapeFolder(shape);
  const name = basename(from);
  const folder = resolve(values.output ?? join("models", `${name}-random`));
  await mkdir(folder, { recursive: true });
  for (const part of ["lm", "codec"]) {
    const options = [
      "--dtype",
      part === "codec" && values.dtype === "int8" ? "bf16" : values.dtype,
      ...(part === "lm" ? ["--talkative"] : []),
    ];
    await tool("random", join(from, part), join(folder, part), ...options, "--seed", values.seed);
  }
  if (from !== folder && existsSync(join(from, "voices")))
    await cp(join(from, "voices"), join(folder, "voices"), { recursive: true });
  await borrow(folder);
  const about = {
    name: `${name} (random weights)`,
    description: "Random weights for measuring; it speaks noise.",
    languages: ["en"],
  };
  await writeFile(join(folder, "sonant.json"), `${JSON.stringify(about, null, 2)}\n`);
  process.stdout.write(`${folder}\n`);
}

/** Ends with a sentence unless a model folder can be made of another one. */
function checkFolders(from: string, to: string): void {
  if (!existsSync(from)) usage(`${from} is not there`);
  if (existsSync(to)) usage(`${to} is already there; name a new folder`);
  if (resolve(to).startsWith(join(resolve(from), "/")))
    usage(`${to} lies inside ${from}; name a folder beside it`);
}

/** Runs the tool on parts of a folder that is being made; if it fails, nothing of that is left. */
async function toolInto(folder: string, ...args: string[]): Promise<void> {
  const { status } = await runTool("sonant_model", args);
  if (status === 0) return;
  // Half a model folder would be taken for a whole one.
  await rm(folder, { recursive: true, force: true });
  process.exit(status);
}

async function convert(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { dtype: { type: "string", default: "keep" } },
  });
  const { dtype } = values;
  const [from, to, ...rest] = positionals;
  if (from === undefined || to === undefined || rest.length > 0) usage(USAGE);
  checkFolders(from, to);
  const parts = ["lm", "codec"].filter((part) => existsSync(join(from, part)));
  for (const part of parts.length > 0 ? parts : [""]) {
    const stored = part === "codec" && dtype === "int8" ? "keep" : dtype;
    const paths = [join(from, part), join(to, part)];
    await toolInto(to, "convert", ...paths, "--dtype", stored);
  }
  if (parts.length === 0) return;
  const converted = parts.map((part) => resolve(from, part));
  await cp(from, to, { recursive: true, filter: (path) => !converted.includes(resolve(path)) });
}

async function quantise([from, to, ...rest]: string[]): Promise<void> {
  if (from === undefined || to === undefined || rest.length > 0) usage(USAGE);
  checkFolders(from, to);
  const lm = resolve(from, "lm");
  await toolInto(to, "quantise", lm, join(to, "lm"));
  await cp(from, to, { recursive: true, filter: (path) => resolve(path) !== lm });
}

async function info([folder, ...rest]: string[]): Promise<void> {
  if (folder === undefined || rest.length > 0) usage(USAGE);
  for (const part of ["lm", "codec"]) await tool("info", join(folder, part));
}

const [command, ...args] = process.argv.slice(2);
if (command === "random") await random(args);
else if (command === "convert") await convert(args);
else if (command === "quantise") await quantise(args);
else if (command === "info") await info(args);
else if (command === "pull") await pullCommand(args);
else if (command === "list") await listCommand(args);
else if (command === "verify") await verifyCommand(args);
else if (command === "remove") await removeCommand(args);
else usage(USAGE);
