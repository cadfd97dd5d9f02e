/**
 * The set-up of a load test as it is typed: every number is the text of its field, so that half of a number may stand
 * there. Turns it into a plan, or says field by field what is wrong. Pure.
 */
import { longestOf } from "../../server/stress/shape.ts";
import { TEXT_SETS } from "../../server/stress/texts.ts";
import {
  STRESS_BOUNDS,
  type StressPlan,
  type StressShape,
  type StressTarget,
} from "../../server/stress/types.ts";

export const FORM_SHAPES = ["fixed", "steps", "ramp", "poisson", "knee"] as const;
export type FormShape = (typeof FORM_SHAPES)[number];

export const FORM_TEXTS = ["mixed", "short", "long", "own"] as const;

export interface StressForm {
  readonly source: "browser" | "server";
  readonly target: StressTarget;
  readonly shape: FormShape;
  /** Requests at once, of `fixed`. */
  readonly concurrency: string;
  readonly from: string;
  readonly to: string;
  readonly by: string;
  readonly perSecond: string;
  readonly seconds: string;
  readonly stepSeconds: string;
  readonly texts: (typeof FORM_TEXTS)[number];
  /** One text a line. */
  readonly ownTexts: string;
  /** Ids; none: the server's default voice. */
  readonly voices: readonly string[];
  /** Limits; empty: none. Shares are percentages here. */
  readonly ttfpP95Ms: string;
  readonly continuity: string;
  readonly errorShare: string;
  readonly maxSeconds: string;
  readonly maxRequests: string;
  readonly seed: string;
  readonly warmup: string;
  readonly processes: string;
  readonly probe: boolean;
  readonly realTimeReaders: boolean;
}

/** Fields that hold a number. */
export type NumberField = Exclude<
  keyof StressForm,
  "source" | "target" | "shape" | "texts" | "ownTexts" | "voices" | "probe" | "realTimeReaders"
>;

export interface NumberBounds {
  readonly min: number;
  readonly max: number;
  readonly isWhole: boolean;
}

const whole = (min: number, max: number): NumberBounds => ({ min, max, isWhole: true });
const real = (min: number, max: number): NumberBounds => ({ min, max, isWhole: false });
const seconds = real(0.5, STRESS_BOUNDS.seconds);
const atOnce = whole(1, STRESS_BOUNDS.concurrency);

/** What the plan allows, whoever makes the load. */
export const NUMBER_BOUNDS: Readonly<Record<NumberField, NumberBounds>> = {
  concurrency: atOnce,
  from: atOnce,
  to: atOnce,
  by: atOnce,
  perSecond: real(0.01, STRESS_BOUNDS.perSecond),
  seconds,
  stepSeconds: seconds,
  ttfpP95Ms: real(1, 3_600_000),
  continuity: real(0, 100),
  errorShare: real(0, 100),
  maxSeconds: seconds,
  maxRequests: whole(1, STRESS_BOUNDS.requests),
  seed: whole(0, 2 ** 32 - 1),
  warmup: whole(0, STRESS_BOUNDS.warmup),
  processes: whole(1, STRESS_BOUNDS.processes),
};

/** Number fields of a shape. */
export const SHAPE_FIELDS: Readonly<Record<FormShape, readonly NumberField[]>> = {
  fixed: ["concurrency", "seconds"],
  steps: ["from", "to", "by", "stepSeconds"],
  ramp: ["from", "to", "seconds"],
  poisson: ["perSecond", "seconds"],
  knee: ["from", "to", "stepSeconds"],
};
export const LIMIT_FIELDS = ["ttfpP95Ms", "continuity", "errorShare"] as const;
/** Guards and details. */
export const DETAIL_FIELDS = ["maxSeconds", "maxRequests", "seed", "warmup"] as const;

/** Number fields that a form shows. */
export function fieldsOf({ shape, source }: Pick<StressForm, "shape" | "source">): NumberField[] {
  const processes: NumberField[] = source === "server" ? ["processes"] : [];
  return [...SHAPE_FIELDS[shape], ...LIMIT_FIELDS, ...DETAIL_FIELDS, ...processes];
}

/** What whoever makes the load can take. */
export interface SourceLimits {
  readonly streams: number;
  readonly seconds: number;
  readonly processes: number;
}

/**
 * Sockets that a page can keep busy without being what is measured; of plain requests a browser has six at a time for a
 * server, one of which is the page's own.
 */
const BROWSER_STREAMS = { ws: 50, many: 50, few: 5 } as const;

/** @param isMultiplexed whether this page came over a protocol that carries many requests on one connection */
export function browserLimits(target: StressTarget, isMultiplexed: boolean): SourceLimits {
  const { ws, many, few } = BROWSER_STREAMS;
  const streams = target === "ws" ? ws : isMultiplexed ? many : few;
  return { streams, seconds: STRESS_BOUNDS.seconds, processes: 1 };
}

/** Keys of the sentences beside fields. */
export type ProblemKey =
  | "whole"
  | "number"
  | "streams"
  | "serverStreams"
  | "serverSeconds"
  | "fromAbove"
  | "needsLimit"
  | "tooLong"
  | "noTexts"
  | "manyTexts"
  | "longText";

export interface FieldProblem {
  readonly key: ProblemKey;
  readonly values: Readonly<Record<string, number>>;
}

export type ProblemField = NumberField | "ownTexts" | "limits";
export type FormProblems = Partial<Record<ProblemField, FieldProblem>>;

/** A number as it is typed, with a point or a comma; undefined if it is none. */
export function numberOf(text: string): number | undefined {
  const plain = text.trim().replace(",", ".");
  return /^\d+(\.\d+)?$/.test(plain) ? Number(plain) : undefined;
}

function problemOfNumber(
  text: string,
  { min, max, isWhole }: NumberBounds,
): FieldProblem | undefined {
  const value = numberOf(text);
  const fits = value !== undefined && value >= min && value <= max;
  if (fits && (!isWhole || Number.isInteger(value))) return undefined;
  return { key: isWhole ? "whole" : "number", values: { min, max } };
}

/** Texts that are said: one a line, without empty ones. */
export function ownTexts(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

export interface ReadForm {
  /** Undefined while anything is wrong. */
  readonly plan: StressPlan | undefined;
  readonly problems: FormProblems;
}

/** @param limits of the source that the form names */
export function readForm(form: StressForm, limits: SourceLimits, model?: string): ReadForm {
  const problems: FormProblems = {};
  for (const name of fieldsOf(form)) {
    const isOptional = (LIMIT_FIELDS as readonly string[]).includes(name);
    if (isOptional && form[name].trim() === "") continue;
    const problem = problemOfNumber(form[name], NUMBER_BOUNDS[name]);
    if (problem !== undefined) problems[name] = problem;
  }
  const texts = form.texts === "own" ? ownTexts(form.ownTexts) : [...TEXT_SETS[form.texts]];
  const textProblem = problemOfTexts(texts);
  if (textProblem !== undefined) problems.ownTexts = textProblem;
  if (Object.keys(problems).length > 0) return { plan: undefined, problems };
  const plan = planOf(form, texts, model);
  Object.assign(problems, problemsOfPlan(form, plan, limits));
  return { plan: Object.keys(problems).length > 0 ? undefined : plan, problems };
}

function problemOfTexts(texts: readonly string[]): FieldProblem | undefined {
  if (texts.length === 0) return { key: "noTexts", values: {} };
  const most = STRESS_BOUNDS.texts;
  if (texts.length > most) return { key: "manyTexts", values: { max: most, n: texts.length } };
  const max = STRESS_BOUNDS.textChars;
  const long = texts.findIndex((text) => text.length > max);
  return long === -1 ? undefined : { key: "longText", values: { max, line: long + 1 } };
}

function problemsOfPlan(form: StressForm, plan: StressPlan, limits: SourceLimits): FormProblems {
  const problems: FormProblems = {};
  const { shape, source } = form;
  const key = source === "browser" ? "streams" : "serverStreams";
  for (const name of ["concurrency", "from", "to"] as const) {
    if (!SHAPE_FIELDS[shape].includes(name)) continue;
    if (value(form, name) > limits.streams) {
      problems[name] = { key, values: { max: limits.streams } };
    }
  }
  if (source === "server" && longestOf(plan) > limits.seconds) {
    const isEven = SHAPE_FIELDS[shape].includes("seconds");
    const time = shape === "knee" ? "maxSeconds" : isEven ? "seconds" : "stepSeconds";
    problems[time] = { key: "serverSeconds", values: { max: limits.seconds } };
  }
  if (source === "server" && plan.processes > limits.processes) {
    problems.processes = { key: "whole", values: { min: 1, max: limits.processes } };
  }
  if (shape === "knee") {
    if (value(form, "from") > value(form, "to")) {
      problems.from ??= { key: "fromAbove", values: { to: value(form, "to") } };
    }
    if (Object.keys(plan.limits).length === 0) {
      problems.limits = { key: "needsLimit", values: {} };
    }
  }
  const needed = Math.ceil(longestOf({ ...plan, maxSeconds: Number.POSITIVE_INFINITY }));
  if (shape !== "knee" && needed > plan.maxSeconds) {
    problems.maxSeconds ??= { key: "tooLong", values: { n: needed } };
  }
  return problems;
}

/** A number of a form that was found to be one. */
function value(form: StressForm, name: NumberField): number {
  return numberOf(form[name]) ?? 0;
}

function planOf(form: StressForm, texts: string[], model: string | undefined): StressPlan {
  const number = (name: NumberField) => value(form, name);
  const limit = (name: NumberField, scale: number) =>
    form[name].trim() === "" ? undefined : number(name) / scale;
  const ttfpP95Ms = limit("ttfpP95Ms", 1);
  const continuity = limit("continuity", 100);
  const errorShare = limit("errorShare", 100);
  return {
    target: form.target,
    shape: shapeOf(form, number),
    seconds: SHAPE_FIELDS[form.shape].includes("seconds") ? number("seconds") : 30,
    texts: { name: form.texts, items: texts },
    ...(model === undefined ? {} : { model }),
    voices: [...form.voices],
    seed: number("seed"),
    warmup: number("warmup"),
    limits: {
      ...(ttfpP95Ms === undefined ? {} : { ttfpP95Ms }),
      ...(continuity === undefined ? {} : { continuity }),
      ...(errorShare === undefined ? {} : { errorShare }),
    },
    maxRequests: number("maxRequests"),
    maxSeconds: number("maxSeconds"),
    source: form.source,
    processes: form.source === "server" ? number("processes") : 1,
    probe: form.probe,
    realTimeReaders: form.target === "ws" && form.realTimeReaders,
  };
}

function shapeOf({ shape }: StressForm, number: (name: NumberField) => number): StressShape {
  const ends = { from: number("from"), to: number("to") };
  switch (shape) {
    case "fixed":
      return { kind: shape, concurrency: number("concurrency") };
    case "steps":
      return { kind: shape, ...ends, by: number("by"), stepSeconds: number("stepSeconds") };
    case "ramp":
      return { kind: shape, ...ends };
    case "poisson":
      return { kind: shape, perSecond: number("perSecond") };
    case "knee":
      return { kind: shape, ...ends, stepSeconds: number("stepSeconds") };
  }
}
