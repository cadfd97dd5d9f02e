/**
 * `npm run stress`: how a whole server does under load, through its own doors and from other processes, as clients see it.
 * Starts the server unless it is told of one. Nothing is asserted but the limits that were asked for.
 */
import { readFile, writeFile } from "node:fs/promises";
import { extname } from "node:path";
import { compareReports } from "../stress/compare.ts";
import { startCrewStress } from "../stress/node/run.ts";
import { parseReport, reportCsv, reportJson, reportMarkdown } from "../stress/output.ts";
import { markdownTable } from "../stress/table.ts";
import type { StressReport } from "../stress/types.ts";
import { type CompareCommand, type RunCommand, readStressOptions } from "./stress-options.ts";
import { Progress } from "./stress-progress.ts";
import { startServer } from "./stress-server.ts";

const STOPPED_STATUS = 130;
/** Signals that come this close to each other were sent once, by a terminal and by a wrapper. */
const SAME_SIGNAL_MS = 500;

const command = readStressOptions(process.argv.slice(2));
try {
  process.exitCode = await (command.kind === "compare" ? compare(command) : run(command));
} catch (error) {
  const { message, hint } = error as Error & { hint?: string };
  process.stderr.write(`${hint === undefined ? message : `${message} ${hint}`}\n`);
  process.exitCode = 1;
}

async function run(options: RunCommand): Promise<number> {
  const { plan, url, json, reports, isBisect } = options;
  const interrupt = new AbortController();
  let stoppedAt: number | undefined;
  const stop = () => {
    stoppedAt ??= performance.now();
    interrupt.abort();
    if (performance.now() - stoppedAt > SAME_SIGNAL_MS) process.exit(STOPPED_STATUS);
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  if (url === undefined) process.stderr.write("Starting the server ...\n");
  const server =
    url === undefined ? await startServer(options.server) : { url, stop: async () => {} };
  try {
    const progress = new Progress(plan);
    const stress = await startCrewStress({
      plan,
      kind: "command",
      baseUrl: server.url,
      apiKey: process.env.SONANT_API_KEY?.split(",", 1)[0]?.trim() || undefined,
      signal: interrupt.signal,
      onTick: (tick) => progress.tick(tick),
    });
    if (isLoopback(server.url)) {
      stress.caveat(
        "The load was made on the server's own machine and took part of its processor.",
      );
    }
    const report = await stress.report;
    progress.end();
    for (const file of reports) await writeFile(file, documentOf(report, extname(file), url));
    process.stdout.write(json ? reportJson(report) : reportMarkdown(report, url));
    if (report.end.kind === "failed") process.stderr.write(`${report.end.reason}\n`);
    return statusOf(report, isBisect);
  } finally {
    await server.stop();
  }
}

function statusOf({ end, knee }: StressReport, isBisect: boolean): number {
  if (end.kind === "stopped") return STOPPED_STATUS;
  if (end.kind !== "finished") return 1;
  return isBisect && (knee?.concurrency ?? null) === null ? 1 : 0;
}

function documentOf(report: StressReport, form: string, url: string | undefined): string {
  if (form === ".csv") return reportCsv(report);
  return form === ".md" ? reportMarkdown(report, url) : reportJson(report);
}

function isLoopback(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

async function compare({ files }: CompareCommand): Promise<number> {
  const [a, b] = await Promise.all(
    files.map(async (file) => {
      try {
        return parseReport(await readFile(file, "utf8"));
      } catch (error) {
        throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
      }
    }),
  );
  if (a === undefined || b === undefined) throw new Error("compare needs two reports.");
  const { rows, differences } = compareReports(a, b);
  const figure = (value: number | null) => (value === null ? "-" : value.toPrecision(4));
  const table = markdownTable(
    ["", `A: ${a.id}`, `B: ${b.id}`, "difference", "better"],
    rows.map((row) => [
      row.unit === "" ? row.name : `${row.name}, ${row.unit}`,
      ...[figure(row.a), figure(row.b)],
      row.relative === null ? "-" : `${(100 * row.relative).toFixed(1)} %`,
      row.better?.toUpperCase() ?? "",
    ]),
  );
  const other = differences.map((difference) => `- ${difference}\n`).join("");
  process.stdout.write(`${table}\n${other === "" ? "" : `\nWhat else differs:\n\n${other}`}`);
  return 0;
}
