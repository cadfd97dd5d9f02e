/**
 * `npm run cases -- FILE`: runs a case file against a running server, or against one that it starts itself, and says of
 * every case whether it passed, what was wrong, or why it was not run.
 */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  type CaseResult,
  caseLines,
  reportDocument,
  totalsLine,
  totalsOf,
} from "../cases/report.ts";
import { openSuite, type SuiteCase } from "../cases/suite.ts";
import { Target } from "../cases/target.ts";
import type { RunOptions } from "../cases/world.ts";
import { usage } from "./native-tool.ts";

const USAGE = `
npm run cases -- FILE [--url URL] [--area a,b] [--id B001,B002]

  FILE            cases in the format of robustness.json or of speech-api-cases.json. Recipes of clips
                  in it are run by a shell: use only files that you trust
  --url URL       a server that runs; without it one is started, with the starter model and empty folders
  --api-key KEY   key for that server
  --area LIST     only cases of these areas; in speech-api-cases.json the first word of the name
  --id LIST       only these cases
  --quick         the shorter forms of long cases, as in the tests
  --patience N    factor on all limits of time, for machines that do other work beside; default 1
  --json FILE     also write the results as JSON`;

function readOptions() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      url: { type: "string" },
      "api-key": { type: "string" },
      area: { type: "string" },
      id: { type: "string" },
      json: { type: "string" },
      quick: { type: "boolean", default: false },
      patience: { type: "string", default: "1" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(`${USAGE.trim()}\n`);
    process.exit(0);
  }
  const [file] = positionals;
  const patience = Number(values.patience);
  if (file === undefined || positionals.length > 1) usage(USAGE);
  if (!(patience >= 1)) usage(`--patience must be a number from 1 on, not '${values.patience}'`);
  if (values.url !== undefined && !/^https?:\/\/./.test(values.url)) {
    usage(`--url must begin with http:// or https://, not '${values.url}'`);
  }
  const list = (text: string | undefined) => text?.split(",").map((part) => part.trim());
  return { ...values, file, patience, areas: list(values.area), ids: list(values.id) };
}

/** Says what is being run, on terminals only, on a line that the next one replaces. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

async function runAll(
  cases: readonly SuiteCase[],
  target: Target,
  options: RunOptions,
): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  for (const [at, one] of cases.entries()) {
    progress(`[${at + 1}/${cases.length}] ${one.id}`);
    const result = await one.run(target, options).catch((error: unknown) => {
      if (options.signal.aborted) return undefined;
      throw error;
    });
    progress("");
    if (result === undefined) break;
    results.push(result);
    process.stdout.write(`${caseLines(result)}\n`);
  }
  return results;
}

async function run(options: ReturnType<typeof readOptions>): Promise<number> {
  const interrupt = new AbortController();
  const stop = () => interrupt.abort();
  process.on("SIGINT", stop).on("SIGTERM", stop);
  const path = resolve(options.file);
  const cases = await openSuite(path, { areas: options.areas, ids: options.ids });
  progress(options.url === undefined ? "starting a server" : "looking at the server");
  const target =
    options.url === undefined
      ? await Target.own()
      : await Target.remote(options.url, options["api-key"]);
  try {
    const { patience, quick } = options;
    const results = await runAll(cases, target, { patience, quick, signal: interrupt.signal });
    process.stdout.write(`${totalsLine(results)}\n`);
    if (options.json !== undefined) {
      const document = reportDocument(path, options.url, results);
      await writeFile(resolve(options.json), `${JSON.stringify(document, undefined, 2)}\n`);
    }
    if (interrupt.signal.aborted) return 130;
    return totalsOf(results).failed > 0 ? 1 : 0;
  } finally {
    await target.close();
  }
}

try {
  process.exitCode = await run(readOptions());
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code?.startsWith("ERR_PARSE_ARGS")) usage(`${message}\n${USAGE}`);
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
