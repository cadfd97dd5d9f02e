/** A plan as the line that runs it again from a terminal. What stands at its default is left out. */
import { TEXT_SETS } from "./texts.ts";
import { STRESS_DEFAULTS, type StressPlan, type StressShape } from "./types.ts";

function shapeOptions(shape: StressShape, seconds: number): string[] {
  const length = seconds === STRESS_DEFAULTS.seconds ? [] : ["--seconds", String(seconds)];
  switch (shape.kind) {
    case "fixed":
      return ["--concurrency", String(shape.concurrency), ...length];
    case "levels":
      return [
        ...["--concurrency", shape.levels.join(",")],
        ...["--step-seconds", String(shape.stepSeconds)],
      ];
    case "steps":
      return [
        ...["--from", String(shape.from), "--to", String(shape.to), "--by", String(shape.by)],
        ...["--step-seconds", String(shape.stepSeconds)],
      ];
    case "ramp":
      return ["--from", String(shape.from), "--to", String(shape.to), ...length];
    case "poisson":
      return ["--rate", String(shape.perSecond), ...length];
    case "knee":
      return [
        ...["--from", String(shape.from), "--to", String(shape.to)],
        ...["--step-seconds", String(shape.stepSeconds)],
      ];
  }
}

function textOptions({ name, items }: StressPlan["texts"]): string[] {
  const known = Object.entries(TEXT_SETS).find(([set]) => set === name)?.[1];
  const isKnown = known?.length === items.length && known.every((text, i) => text === items[i]);
  if (isKnown) return name === "mixed" ? [] : ["--texts", name];
  return [...["--texts-name", name], ...items.flatMap((text) => ["--text", text])];
}

/** The arguments of `npm run stress --` that mean the same as a plan. */
export function planArguments(plan: StressPlan): string[] {
  const { limits } = plan;
  const option = (name: string, value: unknown, normal: unknown) =>
    value === undefined || value === normal ? [] : [`--${name}`, String(value)];
  return [
    ...["--target", plan.target, "--shape", plan.shape.kind],
    ...shapeOptions(plan.shape, plan.seconds),
    ...textOptions(plan.texts),
    ...option("served-model", plan.model, undefined),
    ...plan.voices.flatMap((voice) => ["--voice", voice]),
    ...option("seed", plan.seed, STRESS_DEFAULTS.seed),
    ...option("warmup", plan.warmup, STRESS_DEFAULTS.warmup),
    ...option("limit-ttfp-p95", limits.ttfpP95Ms, undefined),
    ...option("limit-continuity", limits.continuity, undefined),
    ...option("limit-errors", limits.errorShare, undefined),
    ...option("max-requests", plan.maxRequests, STRESS_DEFAULTS.maxRequests),
    ...option("max-seconds", plan.maxSeconds, STRESS_DEFAULTS.maxSeconds),
    ...option("processes", plan.processes, STRESS_DEFAULTS.processes),
    ...(plan.probe ? [] : ["--no-probe"]),
    ...(plan.realTimeReaders ? ["--real-time-readers"] : []),
  ];
}

/** An argument as a shell has to read it. */
export function quoted(argument: string): string {
  return /^[\w./:,=-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

/** @param baseUrl of the server that was tested; empty: one that the command starts */
export function repeatCommand(plan: StressPlan, baseUrl = ""): string {
  const where = baseUrl === "" ? [] : ["--url", baseUrl];
  return ["npm run stress --", ...[...where, ...planArguments(plan)].map(quoted)].join(" ");
}
