/**
 * `npm run model -- COMMAND`: makes and inspects model folders.
 *
 *   random moss-tts-nano [-o FOLDER] [--dtype bf16|f32|int8] [--seed N]
 *                            a full-size model with random weights and the starter's voices, for measuring; it speaks
 *                            noise for as long as its text allows
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
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { CARE_USAGE, listCommand, removeCommand, verifyCommand } from "./model-care.ts";
import { PULL_USAGE, pullCommand } from "./model-pull.ts";
import { ROOT, runTool, usage } from "./native-tool.ts";

const USAGE = `
npm run model -- random moss-tts-nano [-o FOLDER] [--dtype bf16|f32|int8] [--seed N]
npm run model -- convert IN OUT [--dtype keep|bf16|f32|int8]
npm run model -- quantise IN OUT
npm run model -- info FOLDER${PULL_USAGE}${CARE_USAGE}`;

const SHAPES = join(ROOT, "native/shapes");
const STARTER = join(ROOT, "native/models/starter");

async function tool(...args: string[]): Promise<void> {
  const { status } = await runTool("sonant_model", args);
  if (status !== 0) process.exit(status);
}

/**
 * A model folder of a known shape with random weights and the starter's tokenizer and voices, whose ids and codes fit any
 * larger vocabulary and equal codebooks.
 */
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
  if (!existsSync(join(SHAPES, shape, "lm")))
    usage(`There is no shape '${shape}'; known: moss-tts-nano`);
  const folder = resolve(values.output ?? join("models", `${shape}-random`));
  await mkdir(folder, { recursive: true });
  for (const part of ["lm", "codec"]) {
    const options = [
      "--dtype",
      part === "codec" && values.dtype === "int8" ? "bf16" : values.dtype,
      ...(part === "lm" ? ["--talkative"] : []),
    ];
    await tool(
      "random",
      join(SHAPES, shape, part),
      join(folder, part),
      ...options,
      "--seed",
      values.seed,
    );
  }
  await cp(join(STARTER, "lm/tokenizer.model"), join(folder, "lm/tokenizer.model"));
  await cp(join(STARTER, "voices"), join(folder, "voices"), { recursive: true });
  const about = {
    name: `${shape} (random weights)`,
    description: "Random weights for measuring; it speaks noise.",
    languages: ["en"],
  };
  await writeFile(join(folder, "sonant.json"), `${JSON.stringify(about, null, 2)}\n`);
  process.stdout.write(`${folder}\n`);
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
  if (!existsSync(from)) usage(`${from} is not there`);
  if (existsSync(to)) usage(`${to} is already there; name a new folder`);
  if (resolve(to).startsWith(join(resolve(from), "/")))
    usage(`${to} lies inside ${from}; name a folder beside it`);
  const parts = ["lm", "codec"].filter((part) => existsSync(join(from, part)));
  for (const part of parts.length > 0 ? parts : [""]) {
    const stored = part === "codec" && dtype === "int8" ? "keep" : dtype;
    const paths = [join(from, part), join(to, part)];
    const { status } = await runTool("sonant_model", ["convert", ...paths, "--dtype", stored]);
    if (status === 0) continue;
    // Half a model folder would be taken for a whole one.
    await rm(to, { recursive: true, force: true });
    process.exit(status);
  }
  if (parts.length === 0) return;
  const converted = parts.map((part) => resolve(from, part));
  await cp(from, to, { recursive: true, filter: (path) => !converted.includes(resolve(path)) });
}

async function quantise([from, to, ...rest]: string[]): Promise<void> {
  if (from === undefined || to === undefined || rest.length > 0) usage(USAGE);
  if (existsSync(to)) usage(`${to} is already there; name a new folder`);
  await cp(from, to, { recursive: true, filter: (path) => !path.startsWith(join(from, "lm")) });
  await tool("quantise", join(from, "lm"), join(to, "lm"));
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
