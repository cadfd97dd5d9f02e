/** Expectations of the server as a whole: what runs, what was counted, memory, files, processes, its log. */
import { atMost, holds, same, wrong } from "./check.ts";
import type { Checks } from "./expectation.ts";
import { BAD_LOG_WORDS, LOG_WORDS, SERIES, type SeriesName } from "./mapping.ts";
import type { World } from "./world.ts";

const MEGABYTE = 1024 * 1024;
/** Memory of the machine that a case calls small. */
const SMALL_BYTES = 2 * 1024 * MEGABYTE;

async function checkActive(world: World, wanted: number, withinMs: number): Promise<void> {
  let active = Number.NaN;
  await world.eventually(withinMs, async () => {
    active = (await world.target.metrics()).sum("active");
    return active === wanted;
  });
  same("the number of running generations", active, wanted);
}

async function checkCounted(world: World, name: string, wanted: string): Promise<void> {
  if (!(name in SERIES)) wrong(`no metric is known as "${name}"`);
  const series = name as SeriesName;
  let moved = Number.NaN;
  await world.eventually(1000, async () => {
    moved = (await world.target.metrics()).sum(series) - (world.metricsBefore?.sum(series) ?? 0);
    return moved === Number(wanted);
  });
  same(`what "${name}" moved by`, moved, Number(wanted));
}

/** A server that other work keeps from its clean-up holds more than it needs. */
function memoryLimit({ options }: World, megabytes: number): number {
  return options.patience > 1 ? 2 * megabytes : megabytes;
}

function checkGrowth(world: World, name: string, wanted: { max_mb?: number; max_count?: number }) {
  const [later = "", earlier = ""] = name.split("-");
  const grown = (world.measured.get(later) ?? Number.NaN) - (world.measured.get(earlier) ?? 0);
  const { max_mb: megabytes, max_count: count = 0 } = wanted;
  const most = megabytes === undefined ? count : memoryLimit(world, megabytes);
  atMost(`growth ${name}`, grown, most);
}

function checkEqual(world: World, [a = "", b = ""]: readonly string[]): void {
  same(`measure ${b}`, world.measured.get(b), world.measured.get(a));
}

/** Log lines that match what the case calls by those words. */
function linesWith(world: World, words: string): string[] {
  const pattern = BAD_LOG_WORDS[words] ?? LOG_WORDS[words];
  return world.log().filter((line) => pattern?.test(line) ?? line.includes(words));
}

function checkNoLines(world: World, wanted: readonly string[]): void {
  for (const words of wanted) same(`log lines with "${words}"`, linesWith(world, words), []);
}

async function newFiles(world: World): Promise<string[]> {
  return (await world.files()).filter((file) => !world.filesBefore.includes(file));
}

/** An upload that was stored is as large as what was sent. */
function checkStored(world: World): void {
  for (const { status, body } of world.answered()) {
    if (status !== 200) continue;
    const { file_size: size } = JSON.parse(body.toString()).voice as { file_size: number };
    const sent = world.clips.sizes.filter((bytes) => bytes === size);
    holds(sent.length > 0, `a voice of ${size} bytes was stored; none of that size was sent`);
  }
}

export const SERVER_CHECKS: Checks = {
  engine: {
    active: (world: World, wanted: number, section) =>
      checkActive(world, wanted, Number(section.within_ms ?? 1000)),
    within_ms: () => {},
  },
  metrics: (world, member, wanted) => checkCounted(world, member, wanted),
  growth: (world, member, wanted) => checkGrowth(world, member, wanted),
  equal: { equal: (world: World, wanted: readonly string[]) => checkEqual(world, wanted) },
  health: {
    health: async ({ target }: World) =>
      holds(await target.isHealthy(), "the server is not healthy"),
  },
  memory: {
    max_extra_mb: (world: World, most: number) => {
      const extra = (world.bytesMost - world.bytesBefore) / MEGABYTE;
      atMost("extra memory in MB", extra, memoryLimit(world, most));
    },
  },
  process: {
    restarts: ({ target }: World) =>
      holds(target.process?.exit === undefined, "the server's process has ended"),
    zombies: async ({ target }: World, wanted: number) =>
      same(
        "the server's child processes",
        await target.own("a look at its children").children(),
        wanted,
      ),
    exits_within_ms: (world: World, most: number) =>
      atMost("the time to exit in ms", world.ended?.afterMs ?? Number.NaN, world.patient(most)),
    exit_code: ({ ended }: World, wanted: number) =>
      same("the exit code", ended?.exit.code, wanted),
    oom_killed: async ({ target }: World) => {
      const { peak } = await target.own("a look at its memory").memory();
      atMost("peak memory in bytes", peak, SMALL_BYTES);
    },
  },
  fs: {
    temp_files: async ({ target }: World, wanted: number) => {
      const files = await target.own("a look at its files").files("tmp");
      same("temporary files", files.length, wanted);
    },
    new_files_outside_voice_folder: async (world: World, wanted: number) => {
      const { voices } = world.target.own("a look at its files");
      const outside = (await newFiles(world)).filter((file) => !file.startsWith(voices));
      same("new files outside of the voice folder", outside.length, wanted);
    },
    absent: async (world: World, wanted: readonly string[]) => {
      world.target.own("a look at its files");
      for (const name of wanted) {
        const found = (await newFiles(world)).filter((file) => file.endsWith(`/${name}`));
        same(`files named ${name}`, found, []);
      }
    },
    if_stored: checkStored,
  },
  log: {
    none_of: checkNoLines,
    lacks: checkNoLines,
    uncaught: (world: World) => checkNoLines(world, ["uncaught"]),
    has: (world: World, wanted: readonly string[]) => {
      for (const words of wanted) {
        holds(linesWith(world, words).length > 0, `the log has no line about "${words}"`);
      }
    },
  },
};
