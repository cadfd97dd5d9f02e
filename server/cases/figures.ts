/** Expressions of expectations, such as `ttfa(z)-ttfa(n)` or `bytes(p)/2/48000`, over what a case has seen. */

import { MetricsPage } from "./metrics-page.ts";
import { soundOfReply } from "./sound.ts";
import type { World } from "./world.ts";

type Figure = (world: World, name: string) => number | Promise<number>;

const FIGURES: Readonly<Record<string, Figure>> = {
  /** Milliseconds to the first byte of audio. */
  ttfa: (world, name) => world.reply(name).firstByteMs,
  total: (world, name) => world.reply(name).totalMs,
  duration: async (world, name) => (await soundOfReply(world.reply(name))).seconds,
  bytes: (world, name) => world.reply(name).body.length,
  series: (world, name) => new MetricsPage(world.reply(name).body.toString()).samples.length,
};

/** Whether the text is an expression of this kind. */
export function isExpression(text: string): boolean {
  return /\w\(\w+\)/.test(text);
}

/** The value of an expression; operators are taken from left to right. */
export async function evaluate(world: World, expression: string): Promise<number> {
  const parts = expression.match(/\w+\(\w+\)|\d+(\.\d+)?|[-+*/]/g) ?? [];
  let result = await term(world, parts[0] ?? "");
  for (let i = 1; i + 1 < parts.length; i += 2) {
    const right = await term(world, parts[i + 1] ?? "");
    if (parts[i] === "-") result -= right;
    else if (parts[i] === "+") result += right;
    else if (parts[i] === "*") result *= right;
    else result /= right;
  }
  return result;
}

async function term(world: World, text: string): Promise<number> {
  const [, figure = "", name = ""] = /^(\w+)\((\w+)\)$/.exec(text) ?? [];
  const take = FIGURES[figure];
  if (take !== undefined) return take(world, name);
  if (text === "" || !Number.isFinite(Number(text))) throw new Error(`"${text}" is no figure`);
  return Number(text);
}

/** The value at that share of a list, 0.5 for the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
