/**
 * `npm run bench -- cancel [--model FOLDER] [--precision int8] [--threads N] [--cancels 200] [--concurrency 8] [--seed 1]`:
 * how long the engine holds on to a generation that nobody wants any more. Long texts are spoken side by side, and each
 * is cancelled at a random moment: in line, while its prompt is computed, or while it speaks. The time is taken inside
 * the engine, from the call of `cancel` until all state of the generation is released. Nothing is asserted.
 */
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import type { Finished, GenerateStats } from "../engine/types.ts";
import { ENGINE_OPTIONS, integer, loadSpeaker } from "./speaker.ts";

const SENTENCE =
  "The ferry timetable changes on the first weekend of every month, so please check the board before you leave.";
/** Cancels come at any moment of this time, in milliseconds: the first third before most sound. */
const LATEST_MS = 600;

/** Numbers from 0 to 1 that look random and follow from the seed (a linear congruence). */
function randomly(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.round(share * (sorted.length - 1))] ?? 0;
}

interface Outcome {
  readonly stats: GenerateStats;
  /** From the call of `cancel` until JavaScript heard of the end, in milliseconds. */
  readonly heardMs: number;
}

/** Runs the benchmark with the arguments that follow its name, and prints a table. */
export async function benchCancel(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      ...ENGINE_OPTIONS,
      cancels: { type: "string", default: "200" },
      concurrency: { type: "string", default: "8" },
      seed: { type: "string", default: "1" },
    },
  });
  const cancels = integer("cancels", values.cancels, 1, 100_000);
  const concurrency = integer("concurrency", values.concurrency, 1, 256);
  const random = randomly(integer("seed", values.seed, 0, 2 ** 31));
  const { engine, model } = await loadSpeaker(values);
  const { rowWidth: _, ...rows } = model.planSegment({
    text: SENTENCE,
    maxFrames: 375,
    ...(model.defaultVoice === undefined ? {} : { voice: model.defaultVoice }),
  });

  const cancelled = async (seed: number): Promise<Outcome | undefined> => {
    const stream = engine.generate({ ...rows, sampling: { seed } });
    let isOver = false;
    const finished = stream.finished.then((end): Finished => {
      isOver = true;
      return end;
    });
    const reading = (async () => {
      for await (const _ of stream);
    })();
    await new Promise((resolve) => setTimeout(resolve, random() * LATEST_MS));
    const from = performance.now();
    const wasOver = isOver;
    stream.cancel();
    const { stats } = await finished;
    const heardMs = performance.now() - from;
    await reading;
    return wasOver ? undefined : { stats, heardMs };
  };

  const outcomes: Outcome[] = [];
  let started = 0;
  const worker = async () => {
    while (outcomes.length < cancels) {
      const outcome = await cancelled(started++);
      if (outcome !== undefined && outcomes.length < cancels) outcomes.push(outcome);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const { stepMsP50, stepMsP95, live, waiting } = engine.stats();
  await engine.close();

  const row = (name: string, values: number[]) => {
    const sorted = values.sort((a, b) => a - b);
    const figures = [0.5, 0.99, 1].map((share) => percentile(sorted, share).toFixed(1).padStart(8));
    process.stdout.write(`  ${name.padEnd(38)} ${figures.join("")}\n`);
  };
  const load = loadavg()[0]?.toFixed(1);
  process.stdout.write(
    `${cpus()[0]?.model.trim()}, ${cpus().length} cores, load ${load}; ${engine.info.description}\n` +
      `${cancels} cancels, ${concurrency} at a time; a step takes ${stepMsP50.toFixed(1)} ms (p95 ${stepMsP95.toFixed(1)} ms)\n` +
      `  ${"milliseconds".padEnd(38)} ${["p50", "p99", "max"].map((name) => name.padStart(8)).join("")}\n`,
  );
  row(
    "cancel to release, inside the engine",
    outcomes.map(({ stats }) => stats.cancelMs),
  );
  row(
    "cancel to its end, as JavaScript hears",
    outcomes.map(({ heardMs }) => heardMs),
  );
  const late = Math.max(...outcomes.map(({ stats }) => stats.lateFrames));
  const speaking = outcomes.filter(({ stats }) => stats.frames > 0).length;
  process.stdout.write(
    `${speaking} were speaking; at most ${late} frame was made after a cancel; left: ${live} live, ${waiting} waiting\n`,
  );
}
