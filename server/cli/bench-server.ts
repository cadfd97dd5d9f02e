/**
 * `npm run bench -- server`: how a whole server does under load, through its own doors and from another process, as
 * clients see it. Starts the server unless it is told of one. Nothing is asserted: the figures are for reading.
 */
import { writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { SpeechClient } from "../protocol/client/index.ts";
import { type Door, openDoor } from "./bench-server-doors.ts";
import { arrivals, figuresOf, type Outcome, randomly } from "./bench-server-figures.ts";
import { closedLoop, type Loaded, openLoop } from "./bench-server-load.ts";
import { type BenchOptions, readBenchOptions } from "./bench-server-options.ts";
import { startServer, usedBy } from "./bench-server-process.ts";
import { loadName, type Report, reportText, type Step } from "./bench-server-report.ts";

/** Said in turn: from a word to a long sentence, as an assistant would. */
const SENTENCES = [
  "Your order has been confirmed.",
  "The next train to Lyon leaves at nine fifteen from platform four.",
  "I am sorry, I did not understand that. Could you say it again?",
  "Turn left at the next light, and then keep right.",
  "Good morning.",
  "The meeting was moved to Thursday afternoon, because two of the speakers are still travelling.",
  "Please hold the line.",
  "Tomorrow will be sunny, with a light wind from the west.",
  "There are three new messages, and one of them is marked as urgent.",
  "The lamp in the hall was lit. Nobody had come home yet, and the soup was cold.",
  "Done. Is there anything else?",
  "We have received your request and will answer within two working days.",
];
const PROGRESS_MS = 500;

/** Shows how a step is getting on, on a line that is written over where that is possible. */
class Progress {
  readonly #name: string;
  readonly #seconds: number;
  readonly #from = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #count = 0;
  #notSpoken = 0;

  constructor(name: string, seconds: number) {
    this.#name = name;
    this.#seconds = seconds;
    if (process.stderr.isTTY) this.#timer = setInterval(() => this.#write("\r"), PROGRESS_MS);
    else process.stderr.write(`${name} ...\n`);
  }

  note({ kind }: Outcome): void {
    this.#count += 1;
    if (kind !== "spoken") this.#notSpoken += 1;
  }

  end(): void {
    clearInterval(this.#timer);
    this.#write(process.stderr.isTTY ? "\r" : "");
    process.stderr.write("\n");
  }

  #write(start: string): void {
    const elapsed = ((performance.now() - this.#from) / 1000).toFixed(0);
    const wrong = this.#notSpoken > 0 ? `, ${this.#notSpoken} of them not spoken` : "";
    const line = `${this.#name}: ${elapsed} s of ${this.#seconds} s, ${this.#count} requests${wrong}`;
    process.stderr.write(`${start}${line.padEnd(process.stderr.isTTY ? 78 : 0)}`);
  }
}

/** Runs the command with the arguments that follow its name. What goes wrong is told on stderr and in the exit code. */
export async function benchServer(args: readonly string[]): Promise<void> {
  const options = readBenchOptions(args);
  try {
    await measure(options, args);
  } catch (error) {
    const { message, hint } = error as Error & { hint?: string };
    process.stderr.write(`${hint === undefined ? message : `${message} ${hint}`}\n`);
    process.exitCode = 1;
  }
}

async function measure(options: BenchOptions, args: readonly string[]): Promise<void> {
  const loadBefore = loadavg()[0] ?? 0;
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort()).once("SIGTERM", () => interrupt.abort());
  if (options.url === undefined) process.stderr.write("Starting the server ...\n");
  const server =
    options.url === undefined
      ? await startServer(options.server)
      : { url: options.url, stop: async () => {} };
  const apiKey = process.env.SONANT_API_KEY;
  try {
    const client = new SpeechClient({ baseUrl: server.url, apiKey });
    const version = await client.version();
    const steps: Step[] = [];
    for (const name of options.doors) {
      const door = openDoor(name, { baseUrl: server.url, apiKey, voice: options.voice });
      await measureDoor(door, client, options, interrupt.signal, (step) => steps.push(step));
      await door.close();
    }
    await publish(options, {
      machine: { processor: cpus()[0]?.model.trim() ?? "unknown", cores: cpus().length },
      loadBefore,
      date: new Date().toISOString().slice(0, 10),
      command: ["npm run bench -- server", ...args.map(quoted)].join(" "),
      server: {
        version: version.version,
        model: version.model,
        device: version.device,
        engine: version.engine?.description,
      },
      seconds: options.seconds,
      steps,
    });
    if (interrupt.signal.aborted) process.exitCode = 130;
  } finally {
    await server.stop();
  }
}

async function measureDoor(
  door: Door,
  client: SpeechClient,
  options: BenchOptions,
  signal: AbortSignal,
  measured: (step: Step) => void,
): Promise<void> {
  const texts = options.text === undefined ? SENTENCES : [options.text];
  let next = 0;
  const speak = (stop: AbortSignal) => door.speak(texts[next++ % texts.length] ?? "", stop);
  for (let i = 0; i < options.warmup && !signal.aborted; i++) {
    const outcome = await speak(signal);
    if (outcome.kind === "failed" && !signal.aborted) {
      throw new Error(`The server does not speak through ${door.name}: ${outcome.message}`);
    }
  }
  const loads: Step["load"][] = [
    ...options.concurrency.map((concurrency) => ({ kind: "closed", concurrency }) as const),
    ...options.rates.map((perSecond) => ({ kind: "poisson", perSecond }) as const),
  ];
  for (const load of loads) {
    if (signal.aborted) return;
    const progress = new Progress(`${door.name}, ${loadName({ load })}`, options.seconds);
    next = 0;
    const before = await usedBy(client);
    const work = { speak, signal, ended: (outcome: Outcome) => progress.note(outcome) };
    const { outcomes, seconds }: Loaded =
      load.kind === "closed"
        ? await closedLoop(work, load.concurrency, options.seconds)
        : await openLoop(work, arrivals(load.perSecond, options.seconds, randomly(options.seed)));
    const after = await usedBy(client);
    progress.end();
    measured({
      door: door.name,
      load,
      figures: figuresOf(outcomes, seconds),
      server:
        before && after && seconds > 0
          ? {
              cores: (after.cpuSeconds - before.cpuSeconds) / seconds,
              residentMb: after.residentMb,
            }
          : undefined,
    });
  }
}

async function publish({ json }: BenchOptions, report: Report): Promise<void> {
  const document = `${JSON.stringify(report, null, 2)}\n`;
  if (json === "-") {
    process.stdout.write(document);
    return;
  }
  process.stdout.write(`${reportText(report)}\n`);
  if (json !== undefined) await writeFile(json, document);
}

function quoted(argument: string): string {
  return /^[\w./:,=-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
