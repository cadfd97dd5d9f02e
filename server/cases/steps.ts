/** Runs the steps of a case in order: requests, sockets, files, measures, and the groups that repeat or join them. */

import type { HttpStep, Step } from "./case-file.ts";
import { NotRunnable } from "./check.ts";
import { openDescriptorCount, residentMegabytes, temporaryFiles } from "./measures.ts";
import { processStep } from "./process-steps.ts";
import { sendRequest } from "./request-step.ts";
import { socketStep } from "./socket-steps.ts";
import { eachLength, type Scope } from "./values.ts";
import { pause, type World } from "./world.ts";

export async function runSteps(world: World, steps: readonly Step[], scope: Scope): Promise<void> {
  for (const [at, step] of steps.entries()) {
    world.options.signal.throwIfAborted();
    // Pings tell something only while the requests before them run.
    const isBeside = step.parallel !== undefined && usesPing(steps.slice(at + 1));
    if (isBeside) world.background.push(runStep(world, step, scope).catch(() => {}));
    else await runStep(world, step, scope);
  }
}

function usesPing(steps: readonly Step[]): boolean {
  return steps.some(({ op, steps: inner = [] }) => op === "ping" || usesPing(inner));
}

async function runStep(world: World, step: Step, scope: Scope): Promise<void> {
  if (step.delay_ms !== undefined) {
    await pause(await world.values.number(step.delay_ms, scope), world.options.signal);
  }
  if (step.parallel !== undefined) return runTogether(world, step.parallel, scope);
  if (step.repeat !== undefined) return runRepeated(world, step, scope);
  if (step.http !== undefined) return requestStep(world, step, step.http, scope);
  if (step.ws !== undefined) return socketStep(world, step, step.ws, scope);
  if (step.file !== undefined) return world.clips.make(step.file.name, step.file.recipe);
  if (step.measure !== undefined) return measureStep(world, step);
  if (step.wait_ms !== undefined) return waitStep(world, step, scope);
  return processStep(world, step);
}

async function waitStep(world: World, step: Step, scope: Scope): Promise<void> {
  const ms = await world.values.number(step.wait_ms, scope);
  await pause(Math.min(ms, world.shorter.waitMs ?? ms), world.options.signal);
}

/** Inner steps start together; of repeated ones, every repetition. */
async function runTogether(world: World, steps: readonly Step[], scope: Scope): Promise<void> {
  const runs: Promise<void>[] = [];
  for (const step of steps) {
    if (step.repeat === undefined) runs.push(runStep(world, step, scope));
    else {
      for (const inner of await scopes(world, step, scope)) {
        runs.push(runSteps(world, step.steps ?? [], inner));
      }
    }
  }
  await Promise.all(runs);
}

async function runRepeated(world: World, step: Step, scope: Scope): Promise<void> {
  for (const inner of await scopes(world, step, scope))
    await runSteps(world, step.steps ?? [], inner);
}

/** The variables of each repetition. */
async function scopes(world: World, { repeat, steps = [] }: Step, scope: Scope): Promise<Scope[]> {
  const numbered = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ ...scope, $i: n + 1, $k: n + 1 }));
  if (typeof repeat === "number") return numbered(fewer(world, repeat));
  const text = repeat ?? "";
  if (text.startsWith("@")) return numbered(fewer(world, await world.values.number(text, scope)));
  const [, low, high] = /^seed (\d+)\.\.(\d+)$/.exec(text) ?? [];
  if (low !== undefined) return numbered(fewer(world, Number(high) - Number(low) + 1));
  const [, variable, list] = /^(\w+) in (.*)$/.exec(text) ?? [];
  if (variable !== undefined) return valued(scope, variable, (list ?? "").split(" "));
  if (text === "each listed voice") return valued(scope, "voice", listedVoices(world));
  if (text !== "each") throw new NotRunnable(`no rule says what to repeat for "${text}"`);
  const choices = eachLength(steps);
  if (choices !== undefined) {
    return Array.from({ length: choices }, (_, n) => ({ ...scope, $each: n }));
  }
  const written = JSON.stringify(steps);
  const loop = [...world.clips.loops].find(([name]) => written.includes(`$${name}`));
  return loop === undefined ? [scope] : valued(scope, loop[0], spread(world, loop[1]));
}

function valued(scope: Scope, variable: string, values: readonly string[]): Scope[] {
  return values.map((value) => ({ ...scope, [`$${variable}`]: value }));
}

function fewer({ shorter }: World, count: number): number {
  return Math.min(count, shorter.repeats ?? count);
}

/** As many values as a shorter form has, from the first to the last. */
function spread({ shorter }: World, values: readonly string[]): readonly string[] {
  const { repeats = values.length } = shorter;
  if (repeats >= values.length) return values;
  const step = (values.length - 1) / Math.max(1, repeats - 1);
  return values.filter((_, i) => Math.round(Math.round(i / step) * step) === i);
}

function listedVoices({ replies }: World): string[] {
  const lists = [...replies.values()].flat().filter(({ request }) => request.startsWith("GET"));
  return JSON.parse(lists.at(-1)?.body.toString() ?? "{}").voices ?? [];
}

async function measureStep(world: World, { measure = "", save = "" }: Step): Promise<void> {
  const measures: Readonly<Record<string, (world: World) => Promise<number>>> = {
    rss: residentMegabytes,
    "open descriptors": openDescriptorCount,
    "count of files in the service's temp folder": temporaryFiles,
  };
  const take = measures[measure];
  if (take === undefined) throw new NotRunnable(`nothing measures "${measure}"`);
  world.measured.set(save, await take(world));
}

async function requestStep(world: World, step: Step, http: HttpStep, scope: Scope): Promise<void> {
  const name = String(await world.values.filled(step.save ?? "", scope));
  world.keep(name, await sendRequest(world, http, scope));
  await world.noteMemory();
}
