/**
 * Steps outside of requests: servers that are started, stopped and damaged, networks that fail, clocks that go back. The
 * words of the case file are the keys; a step whose words are not here is reported as not run.
 */
import { chmod, mkdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Step } from "./case-file.ts";
import { NotRunnable } from "./check.ts";
import { sendRequest } from "./request-step.ts";
import { ServerProcess } from "./server-process.ts";
import type { World } from "./world.ts";

/** A clock that goes back by ten seconds when the process is told so. */
const CLOCK = `const now = Date.now.bind(Date); let back = 0;
process.on("SIGUSR2", () => { back = 10000; }); Date.now = () => now() - back;`;
/** Requests of a case take longer than this, so that the clock goes back in their middle. */
const CLOCK_DELAY_MS = 50;
const EXIT_TIMEOUT_MS = 30_000;
const BROKEN_BYTES = 10;

type Action = (world: World, ...words: string[]) => Promise<void>;

const ACTIONS: readonly (readonly [RegExp, Action])[] = [
  [/^start with engine memory budget for one slot/, startWithOneSlot],
  [/^fresh start$/, async (world) => void (await world.serve({}))],
  // What the whole run has made a server use tells more than a start: its peak is looked at.
  [/^start in a cgroup with 2 GB/, async ({ target }) => void target.own("a look at its memory")],
  [/^start old release, upload 3 voices, stop$/, uploadThreeAndStop],
  [/^cut the second voice file to 10 bytes$/, damageSecondVoice],
  [/^start new release on the same data folder$/, startAgain],
  [/^put a failing ffmpeg first on PATH$/, startWithBrokenFfmpeg],
  [/^start with the architecture check forced to fail$/, tryUnsupportedDevice],
  [/^SIGTERM$/, async ({ target }) => target.own("a signal").kill("SIGTERM")],
  [/^system clock steps back 10 s in the middle$/, stepClockBack],
  [/^drop all packets on (\w+)$/, async ({ sockets }, name) => sockets.get(name)?.loseNetwork()],
  [/^exit$/, awaitExit],
];

/** Runs a step that names something outside of a request. @throws NotRunnable when it is not known */
export async function processStep(world: World, step: Step): Promise<void> {
  const words = step.process ?? step.network ?? step.fault ?? step.observe;
  if (words === undefined) {
    throw new NotRunnable(
      `steps of the kind ${Object.keys(step).join(", ")} are not driven over the wire`,
    );
  }
  const [pattern, action] = ACTIONS.find(([known]) => known.test(words)) ?? [];
  if (action === undefined) throw new NotRunnable(`no rule says how to do "${words}"`);
  await action(world, ...(pattern?.exec(words)?.slice(1) ?? []));
}

async function startWithOneSlot(world: World): Promise<void> {
  await world.serve({ settings: { stages: [{ stage_id: 0, max_num_seqs: 1 }] } });
}

async function uploadThreeAndStop(world: World): Promise<void> {
  const server = await world.serve({});
  for (const name of ["first", "second", "third"]) {
    const multipart = { name, consent: "yes", audio_sample: "@file:base.wav" };
    const http = { method: "POST", path: "/v1/audio/voices", multipart };
    const { status, body } = await sendRequest(world, http, {});
    if (status !== 200) throw new Error(`The upload was refused: ${body}`);
  }
  await server.stop();
}

/** Every voice has files of its own under names that tell nothing; the one that says "second" inside is cut. */
async function damageSecondVoice({ target }: World): Promise<void> {
  for (const file of await target.own("damaging files").files("voices")) {
    if ((await readFile(file)).includes("second")) return truncate(file, BROKEN_BYTES);
  }
  throw new Error("The server has stored no voice named second.");
}

async function startAgain(world: World): Promise<void> {
  await world.serve({ folder: world.target.own("starting again").folder });
}

async function startWithBrokenFfmpeg(world: World): Promise<void> {
  const { folder } = world.target.own("a program on PATH");
  const programs = join(folder, "programs");
  await mkdir(programs, { recursive: true });
  const ffmpeg = join(programs, "ffmpeg");
  await writeFile(ffmpeg, "#!/bin/sh\nexit 1\n");
  await chmod(ffmpeg, 0o755);
  await world.serve({ environment: { PATH: `${programs}:${process.env.PATH}` } });
}

/** A device for which nothing was built. */
async function tryUnsupportedDevice(world: World): Promise<void> {
  world.target.own("trying to start a server");
  world.trial = await ServerProcess.launch({ environment: { SONANT_DEVICE: "cuda" } });
  await exitOf(world, world.trial);
}

async function stepClockBack(world: World): Promise<void> {
  const server = await world.serve({ preload: CLOCK });
  setTimeout(() => server.kill("SIGUSR2"), CLOCK_DELAY_MS);
}

async function awaitExit(world: World): Promise<void> {
  await exitOf(world, world.target.own("seeing a process end"));
}

async function exitOf(world: World, server: ServerProcess): Promise<void> {
  const from = performance.now();
  const timer = setTimeout(() => server.kill("SIGKILL"), world.patient(EXIT_TIMEOUT_MS));
  const exit = await server.exited;
  clearTimeout(timer);
  world.ended = { exit, afterMs: exit.at - from };
}
