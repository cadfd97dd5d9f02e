/** The options of `npm run bench -- server`: their meaning, their limits, and what is said when they make no sense. */
import { parseArgs } from "node:util";
import { usage } from "./native-tool.ts";
import { choice, integer, number } from "./speaker.ts";

const DOORS = ["http", "ws"] as const;
export type DoorName = (typeof DOORS)[number];

export const USAGE = `
npm run bench -- server [options]      a load test through the server's doors, as clients see it

  --concurrency N,N,...  requests at once, each followed by the next (1,2,4,8,16)
  --rate R,R,...         requests a second that arrive by chance, whether or not others have ended
  --door http,ws         streamed HTTP, WebSocket, or both (http,ws)
  --seconds N            how long each step takes new requests, 1 to 3600 (10)
  --text TEXT            said by every request; without it, a dozen sentences in turn
  --voice NAME           the server's default voice without it
  --warmup N             requests before each door is measured, 0 to 100 (2)
  --seed N               of the arrivals by chance (1)
  --json FILE            all figures as JSON as well; - for stdout instead of the table
  --url URL              a server that runs already; its key comes from SONANT_API_KEY
  --config FILE --model FOLDER --threads N
                         for the server that is started otherwise, as in npm start

The load is made in another process than the server's. TTFP runs from the request to the first piece of sound, RTF is the
time to the last byte over the length of the sound, and a stream is continuous if a player that starts with the first
piece never waits longer than 100 ms. Without --concurrency, --rate replaces it.`;

export interface BenchOptions {
  readonly doors: readonly DoorName[];
  readonly concurrency: readonly number[];
  readonly rates: readonly number[];
  readonly seconds: number;
  readonly text: string | undefined;
  readonly voice: string | undefined;
  readonly warmup: number;
  readonly seed: number;
  readonly json: string | undefined;
  readonly url: string | undefined;
  /** Options for the server that is started. */
  readonly server: readonly string[];
}

const DEFAULT_CONCURRENCY = "1,2,4,8,16";
const MAX_CONCURRENCY = 1024;
const SERVER_OPTIONS = ["config", "model", "threads"] as const;

function list<T>(text: string, read: (part: string) => T): T[] {
  return text.split(",").map((part) => read(part.trim()));
}

/** Reads the arguments that follow the command's name; ends the process with a sentence if they make no sense. */
export function readBenchOptions(args: readonly string[]): BenchOptions {
  const values = parsed(args);
  if (values.help) {
    process.stdout.write(`${USAGE.trim()}\n`);
    process.exit(0);
  }
  const given = SERVER_OPTIONS.filter((name) => values[name] !== undefined);
  if (values.url !== undefined && given.length > 0) {
    usage(
      `--${given[0]} is for a server that is started here, and --url for one that runs already`,
    );
  }
  if (values.url !== undefined && !isHttpUrl(values.url)) {
    usage(`--url must be an address like http://127.0.0.1:8091, not '${values.url}'`);
  }
  if (values.text?.trim() === "") usage("--text must not be blank");
  const concurrency = values.concurrency ?? (values.rate === undefined ? DEFAULT_CONCURRENCY : "");
  return {
    doors: list(values.door, (part) => choice("door", part, DOORS)),
    concurrency:
      concurrency === ""
        ? []
        : list(concurrency, (part) => integer("concurrency", part, 1, MAX_CONCURRENCY)),
    rates:
      values.rate === undefined
        ? []
        : list(values.rate, (part) => number("rate", part, 0.01, 1000)),
    seconds: number("seconds", values.seconds, 1, 3600),
    text: values.text,
    voice: values.voice,
    warmup: integer("warmup", values.warmup, 0, 100),
    seed: integer("seed", values.seed, 0, 2 ** 32 - 1),
    json: values.json,
    url: values.url,
    server: given.flatMap((name) => [`--${name}`, values[name] ?? ""]),
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        concurrency: { type: "string" },
        rate: { type: "string" },
        door: { type: "string", default: "http,ws" },
        seconds: { type: "string", default: "10" },
        text: { type: "string" },
        voice: { type: "string" },
        warmup: { type: "string", default: "2" },
        seed: { type: "string", default: "1" },
        json: { type: "string" },
        url: { type: "string" },
        config: { type: "string" },
        model: { type: "string" },
        threads: { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    return usage(`${(error as Error).message}\n${USAGE}`);
  }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
