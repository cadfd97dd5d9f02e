/**
 * `npm run bench -- [--model FOLDER]... [--device cpu] [--precision int8]... [--threads N] [--isa NAME] [--batches 1,4,16]
 * [--streams N,N [--seconds N]] [--json]`: times the engine's parts on this machine, one row a figure, for the starter and
 * a full-size model with random weights; with `--streams` that many listeners at once. Nothing is asserted: the figures
 * are for reading and for README's table. `npm run bench -- cancel` measures something else, in a file of its own, and
 * `npm run stress` a whole server.
 */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { benchCancel } from "./bench-cancel.ts";
import { ROOT, runTool, usage } from "./native-tool.ts";

const STARTER = join(ROOT, "native/models/starter");
const SHAPE = join(ROOT, "native/shapes/moss-tts-nano");

if (process.argv[2] === "cancel") {
  await benchCancel(process.argv.slice(3));
  process.exit();
}

const { values } = parseArgs({
  options: {
    model: { type: "string", multiple: true },
    precision: { type: "string", multiple: true },
    device: { type: "string", default: "cpu" },
    threads: { type: "string" },
    isa: { type: "string" },
    batches: { type: "string" },
    streams: { type: "string" },
    seconds: { type: "string" },
    json: { type: "boolean", default: false },
  },
});

type Figures = Record<string, number | string>;

async function measure(folder: string, precision: string | undefined): Promise<Figures> {
  const args = [
    "--lm",
    join(folder, "lm"),
    "--codec",
    join(folder, "codec"),
    "--json",
    ...["--device", values.device],
    ...(precision === undefined ? [] : ["--precision", precision]),
    ...(values.batches === undefined ? [] : ["--batches", values.batches]),
    ...(values.streams === undefined ? [] : ["--streams", values.streams]),
    ...(values.seconds === undefined ? [] : ["--seconds", values.seconds]),
  ];
  if (values.threads) args.push("--threads", values.threads);
  if (values.isa) args.push("--isa", values.isa);
  const { status, output } = await runTool("sonant_bench", args, { capture: true });
  if (status !== 0) process.exit(status);
  return JSON.parse(output) as Figures;
}

/** A full-size checkpoint with random weights that lives as long as the benchmark. */
async function withFullSize<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "sonant-bench-"));
  try {
    for (const part of ["lm", "codec"]) {
      process.stderr.write(`Making random weights for moss-tts-nano (${part}) …\n`);
      const made = await runTool(
        "sonant_model",
        ["random", join(SHAPE, part), join(folder, part), "--dtype", "bf16"],
        { capture: true },
      );
      if (made.status !== 0) process.exit(made.status);
    }
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function run(models: ReadonlyMap<string, string>): Promise<void> {
  const results: { model: string; figures: Figures }[] = [];
  for (const [model, folder] of models) {
    if (!existsSync(join(folder, "lm"))) usage(`There is no model in ${folder}`);
    for (const precision of values.precision ?? [undefined]) {
      process.stderr.write(`Measuring ${model}${precision ? `, ${precision}` : ""} …\n`);
      results.push({ model, figures: await measure(folder, precision) });
    }
  }
  const machine = {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    date: new Date().toISOString().slice(0, 10),
  };
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ machine, results }, null, 2)}\n`);
    return;
  }
  process.stdout.write(`${machine.processor}, ${machine.cores} cores, ${machine.date}\n`);
  for (const { model, figures } of results) {
    process.stdout.write(`\n${model}: ${figures.backend}\n`);
    for (const [name, value] of Object.entries(figures)) {
      if (typeof value === "number" && name !== "threads")
        process.stdout.write(`  ${name.padEnd(26)} ${value.toFixed(3).padStart(10)}\n`);
    }
  }
}

if (values.model) await run(new Map(values.model.map((folder) => [folder, folder])));
else
  await withFullSize((folder) =>
    run(
      new Map([
        ["starter", STARTER],
        ["moss-tts-nano, random weights", folder],
      ]),
    ),
  );
