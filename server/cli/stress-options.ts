/** The options of `npm run stress`: their meaning, their limits, and what is said when they make no sense. */
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { parseArgs } from "node:util";
import { ApiError, validate } from "../protocol/envelope.ts";
import { StressPlan, type StressPlanInput, type StressShape } from "../protocol/stress.ts";
import {
  STRESS_BOUNDS,
  STRESS_DEFAULTS,
  STRESS_SHAPES,
  STRESS_TARGETS,
} from "../protocol/stress-bounds.ts";
import { TEXT_SETS } from "../stress/texts.ts";
import { usage } from "./native-tool.ts";
import { choice, integer, number } from "./speaker.ts";

export const USAGE = `
npm run stress -- [options]            a load test through the server's doors, as clients see it
npm run stress -- bisect [options]     the largest number of requests at once that meets the limits
npm run stress -- compare A.json B.json
                                       two reports side by side

Load
  --target http|sse|ws     streamed bytes, server-sent events, or the speech socket (http)
  --shape NAME             fixed, steps, levels, ramp, poisson or knee; follows from the options below if absent
  --concurrency N[,N...]   requests at once, each followed by the next: fixed, or one level after the other (1,2,4,8,16)
  --rate R                 poisson: requests a second that arrive by chance, whether or not others have ended
  --from N --to N          steps, ramp, knee: requests at once at the start and at the end (1, 16; knee: 1, 256)
  --by N                   steps: how many are added from step to step (1)
  --seconds N              fixed, ramp, poisson: how long new requests are begun (30)
  --step-seconds N         steps, levels, knee: the same for each step (10)
  --texts NAME             mixed, short or long (mixed); --texts-file FILE: one text a line; --text TEXT, may be repeated
  --served-model NAME      which model speaks, where the server has several; its default one without it
  --voice NAME             may be repeated, spoken in turn; the model's default voice without it
  --seed N                 of the arrivals by chance and of the requests (1)
  --warmup N               requests before the measurement, which do not count (2)
  --real-time-readers      ws: readers report what they have heard, as players do
  --no-probe               does not repeat one seeded request among the load to compare its samples

Limits, which end the run where they are crossed; of a knee they are the target
  --limit-ttfp-p95 MS      largest p95 of the time to the first sound
  --limit-continuity S     least share of streams without a gap above 100 ms, 0 to 1 (bisect: 0.99)
  --limit-errors S         largest share of requests that are refused or fail, 0 to 1 (bisect: 0.01)
  --max-requests N         no more requests than these (100000)
  --max-seconds N          no longer than this (900)

Where
  --url URL                a server that runs already; its key comes from SONANT_API_KEY
  --config FILE --model FOLDER --threads N
                           for the server that is started otherwise, as in npm start
  --processes N            processes that share the load (1)

What is told
  --report FILE            the report as .json, .md or .csv; may be repeated
  --json                   the report on stdout as JSON and not as Markdown

The load is made in other processes than the server's. TTFP runs from the request to the first sound, of arrivals by chance
from the moment they were due; RTF is the time to the last byte over the length of the sound. Ctrl+C ends the run and keeps
what was measured; a second one ends the command at once.
Exit status: 0 the plan was carried out (bisect: a load met the limits), 1 it failed or a limit or guard ended it, 2 the
options make no sense, 130 it was stopped by hand.`;

const REPORT_FORMS = [".json", ".md", ".csv"] as const;
const SERVER_OPTIONS = ["config", "model", "threads"] as const;

export interface RunCommand {
  readonly kind: "run";
  readonly plan: StressPlan;
  readonly isBisect: boolean;
  readonly url: string | undefined;
  /** Options for the server that is started. */
  readonly server: readonly string[];
  /** Files, by their ending. */
  readonly reports: readonly string[];
  readonly json: boolean;
}

export interface CompareCommand {
  readonly kind: "compare";
  readonly files: readonly [string, string];
}

/** Reads the arguments; ends the process with a sentence if they make no sense. */
export function readStressOptions(args: readonly string[]): RunCommand | CompareCommand {
  const { values, positionals } = parsed(args);
  if (values.help) {
    process.stdout.write(`${USAGE.trim()}\n`);
    process.exit(0);
  }
  const [command, ...rest] = positionals;
  if (command === "compare") {
    const [a, b] = rest;
    if (a === undefined || b === undefined || rest.length > 2) {
      usage("compare needs two reports: npm run stress -- compare A.json B.json");
    }
    return { kind: "compare", files: [a, b] };
  }
  if (command !== undefined && command !== "bisect") {
    usage(`There is no command '${command}'; the commands are bisect and compare`);
  }
  if (rest.length > 0) usage(`'${rest[0]}' is not an option; see npm run stress -- --help`);
  const isBisect = command === "bisect";
  const { url } = values;
  const given = SERVER_OPTIONS.filter((name) => values[name] !== undefined);
  if (url !== undefined && given.length > 0) {
    usage(
      `--${given[0]} is for a server that is started here, and --url for one that runs already`,
    );
  }
  if (url !== undefined && !isHttpUrl(url)) {
    usage(`--url must be an address like http://127.0.0.1:8091, not '${url}'`);
  }
  for (const file of values.report ?? []) {
    if (!(REPORT_FORMS as readonly string[]).includes(extname(file))) {
      usage(`--report must end in ${REPORT_FORMS.join(", ")}, not '${file}'`);
    }
  }
  return {
    kind: "run",
    plan: planOf(values, isBisect),
    isBisect,
    url,
    server: given.flatMap((name) => [`--${name}`, values[name] ?? ""]),
    reports: values.report ?? [],
    json: values.json,
  };
}

type Values = ReturnType<typeof parsed>["values"];

function planOf(values: Values, isBisect: boolean): StressPlan {
  const share = (name: string, text: string | undefined, normal?: number) =>
    text === undefined ? normal : number(name, text, 0, 1);
  const ttfp = values["limit-ttfp-p95"];
  const limits = {
    ttfpP95Ms: ttfp === undefined ? undefined : number("limit-ttfp-p95", ttfp, 1, 3_600_000),
    continuity: share("limit-continuity", values["limit-continuity"], isBisect ? 0.99 : undefined),
    errorShare: share("limit-errors", values["limit-errors"], isBisect ? 0.01 : undefined),
  };
  const kept = Object.entries(limits).filter(([, limit]) => limit !== undefined);
  const plan: StressPlanInput = {
    target: choice("target", values.target, STRESS_TARGETS),
    shape: shapeOf(values, isBisect),
    seconds: number("seconds", values.seconds, 0.5, STRESS_BOUNDS.seconds),
    texts: textsOf(values),
    ...(values["served-model"] === undefined ? {} : { model: values["served-model"] }),
    voices: values.voice ?? [],
    seed: integer("seed", values.seed, 0, 2 ** 32 - 1),
    warmup: integer("warmup", values.warmup, 0, STRESS_BOUNDS.warmup),
    limits: Object.fromEntries(kept),
    maxRequests: integer("max-requests", values["max-requests"], 1, STRESS_BOUNDS.requests),
    maxSeconds: number("max-seconds", values["max-seconds"], 0.5, STRESS_BOUNDS.seconds),
    source: "server",
    processes: integer("processes", values.processes, 1, STRESS_BOUNDS.processes),
    probe: !values["no-probe"],
    realTimeReaders: values["real-time-readers"],
  };
  try {
    return validate(StressPlan, plan);
  } catch (error) {
    if (error instanceof ApiError) return usage(error.message);
    throw error;
  }
}

function shapeOf(values: Values, isBisect: boolean): StressShape {
  const kind = isBisect ? "knee" : kindOf(values);
  const places = (name: "from" | "to", normal: string) =>
    integer(name, values[name] ?? normal, 1, STRESS_BOUNDS.concurrency);
  const stepSeconds = number("step-seconds", values["step-seconds"], 0.5, STRESS_BOUNDS.seconds);
  const levels = (values.concurrency ?? "1,2,4,8,16")
    .split(",")
    .map((part) => integer("concurrency", part.trim(), 1, STRESS_BOUNDS.concurrency));
  switch (kind) {
    case "fixed":
      if (levels.length > 1 && values.concurrency !== undefined) {
        usage("--shape fixed has one --concurrency; several are --shape levels");
      }
      return { kind, concurrency: values.concurrency === undefined ? 1 : (levels[0] ?? 1) };
    case "levels":
      return { kind, levels, stepSeconds };
    case "steps": {
      const by = integer("by", values.by, 1, STRESS_BOUNDS.concurrency);
      return { kind, from: places("from", "1"), to: places("to", "16"), by, stepSeconds };
    }
    case "ramp":
      return { kind, from: places("from", "1"), to: places("to", "16") };
    case "poisson": {
      if (values.rate === undefined) usage("--shape poisson needs --rate");
      return { kind, perSecond: number("rate", values.rate, 0.01, STRESS_BOUNDS.perSecond) };
    }
    case "knee":
      return { kind, from: places("from", "1"), to: places("to", "256"), stepSeconds };
  }
}

/** The shape that was named, or the one that the other options speak of. */
function kindOf({ shape, rate, concurrency, from, to }: Values): StressShape["kind"] {
  if (shape !== undefined) return choice("shape", shape, STRESS_SHAPES);
  if (rate !== undefined) return "poisson";
  if (from !== undefined || to !== undefined) return "steps";
  return concurrency === undefined || concurrency.includes(",") ? "levels" : "fixed";
}

function textsOf(values: Values): StressPlanInput["texts"] {
  const { text, texts, "texts-file": file, "texts-name": name } = values;
  const ways = [text, texts, file].filter((way) => way !== undefined);
  if (ways.length > 1) usage("--text, --texts and --texts-file exclude each other");
  if (text !== undefined) {
    if (text.some((one) => one.trim() === "")) usage("--text must not be blank");
    return { name: name ?? "own", items: text };
  }
  if (file !== undefined) {
    const items = linesOf(file);
    if (items.length === 0) usage(`--texts-file: there is no text in '${file}'`);
    return { name: name ?? file.slice(-100), items };
  }
  const names = Object.keys(TEXT_SETS) as (keyof typeof TEXT_SETS)[];
  const set = choice("texts", texts ?? "mixed", names);
  return { name: set, items: [...TEXT_SETS[set]] };
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8")
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== "");
  } catch (error) {
    return usage(`--texts-file: ${(error as Error).message}`);
  }
}

function parsed(args: readonly string[]) {
  const text = { type: "string" } as const;
  const normal = (value: string | number) => ({ ...text, default: String(value) });
  const several = { ...text, multiple: true } as const;
  const flag = { type: "boolean", default: false } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        target: normal(STRESS_DEFAULTS.target),
        shape: text,
        concurrency: text,
        rate: text,
        from: text,
        to: text,
        by: normal(1),
        seconds: normal(STRESS_DEFAULTS.seconds),
        "step-seconds": normal(10),
        texts: text,
        "texts-file": text,
        "texts-name": text,
        text: several,
        "served-model": text,
        voice: several,
        seed: normal(STRESS_DEFAULTS.seed),
        warmup: normal(STRESS_DEFAULTS.warmup),
        "limit-ttfp-p95": text,
        "limit-continuity": text,
        "limit-errors": text,
        "max-requests": normal(STRESS_DEFAULTS.maxRequests),
        "max-seconds": normal(STRESS_DEFAULTS.maxSeconds),
        processes: normal(STRESS_DEFAULTS.processes),
        "no-probe": flag,
        "real-time-readers": flag,
        url: text,
        config: text,
        model: text,
        threads: text,
        report: several,
        json: flag,
        help: { ...flag, short: "h" },
      },
    });
  } catch (error) {
    return usage(`${(error as Error).message}\n${USAGE}`);
  }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
