/**
 * Hundreds of sessions, two thousand in a thorough run, that end in every way a session can, by all doors of a real server: nothing of them stays, and
 * whoever comes next is answered as the first one was. Sessions that the network swallowed are among them: nobody tells
 * the server of those.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { randomly } from "../speech/test-starter.ts";
import { DOORS, type Moment, type Stay, visit } from "./test-leavers.ts";
import { answerOf, LiveServer } from "./test-live-server.ts";
import { BreakableNetwork } from "./test-network.ts";

const WINDOWS = 5;
const VISITS_PER_WINDOW = process.env.SONANT_THOROUGH ? 400 : 100;
/** Visitors at the same time: more than are spoken to, fewer than may wait. */
const AT_ONCE = 40;

/** How many of a hundred visitors leave at which moment. */
const SHARES: Readonly<Record<Moment, number>> = {
  "before anything": 5,
  "in text": 5,
  "before sound": 10,
  "in sound": 35,
  "after the end": 38,
  slow: 4,
  "cut off": 3,
};
const MOMENTS = Object.entries(SHARES).flatMap(([moment, share]) =>
  Array.from({ length: share }, () => moment as Moment),
);

let server: LiveServer;
let network: BreakableNetwork;

beforeAll(async () => {
  server = await LiveServer.start({
    // One thread: the test shares the machine with its server, and threads that wait for each other suffer most.
    stage: { max_num_seqs: 8, max_queue: 64, max_queue_wait_s: 600, realtime_share: 0, threads: 1 },
    deploy: {
      server: { stall_timeout_s: 2 },
      // Short, for those who were cut off; but visitors answer it from one process that may have to wait for its turn.
      ws: { heartbeat_s: 1.5, stall_timeout_s: 2, max_sessions_per_client: 4096 },
    },
  });
  network = await BreakableNetwork.to(server.port);
});
afterAll(async () => {
  await network?.close();
  await server?.stop();
});

/** Length and content of a text that is spoken alone. */
async function speakAlone(): Promise<Buffer> {
  const wish = { input: "Still here, and well.", voice: "ryan", seed: 77 };
  const { bytes } = await answerOf(server.port, "/v1/audio/speech", {
    ...wish,
    response_format: "pcm",
  });
  return bytes;
}

interface Remains {
  readonly active: number;
  readonly waiting: number;
  /** Bytes of live sequences in the engine. */
  readonly sequences: number;
  /** Open sockets of the speech door. */
  readonly sockets: number;
  readonly handles: number;
}

async function remains(): Promise<Remains> {
  const { bytes } = await answerOf(server.port, "/ready");
  const { active, waiting } = JSON.parse(bytes.toString()) as { active: number; waiting: number };
  const sequences = await server.metric("tts_engine_memory_bytes", 'kind="sequences"');
  const sockets = await server.metric("tts_ws_sessions");
  return { active, waiting, sequences, sockets, handles: await server.handles() };
}

/** Waits until the server is as it was; what is left after half a minute is returned all the same. */
async function settled(before: Remains): Promise<Remains> {
  const until = performance.now() + 30_000;
  for (;;) {
    const now = await remains();
    const isSettled =
      now.active + now.waiting + now.sequences + now.sockets === 0 && now.handles <= before.handles;
    if (isSettled || performance.now() > until) return now;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

it("sessions that are left in every way leave nothing behind", async () => {
  const alone = await speakAlone();
  const before = await remains();
  expect(before).toMatchObject({ active: 0, waiting: 0, sequences: 0, sockets: 0 });
  const lookups = await server.metric("tts_voice_cache_total");

  const random = randomly(2000);
  const stays = new Map<Moment, Stay[]>();
  let seed = 0;
  const stay = async () => {
    const door = DOORS[Math.floor(random() * DOORS.length)] ?? "stream";
    const moment = MOMENTS[Math.floor(random() * MOMENTS.length)] ?? "in sound";
    const plan = { door, moment, seed: seed++, random: randomly(seed) };
    const list = stays.get(moment) ?? [];
    stays.set(moment, list);
    list.push(await visit(plan, { port: server.port, network }));
  };

  const marks: number[] = [];
  for (let window = 0; window < WINDOWS; window++) {
    let left = VISITS_PER_WINDOW;
    const guest = async () => {
      while (left-- > 0) await stay();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, guest));
    const after = await settled(before);
    expect(after).toEqual({ ...before, handles: expect.any(Number) });
    expect(after.handles).toBeLessThanOrEqual(before.handles);
    marks.push(await server.residentMb());
  }

  // The visits were what they were meant to be: most reached the engine, and those who stayed were served.
  const begun = (await server.metric("tts_voice_cache_total")) - lookups;
  expect(seed).toBe(WINDOWS * VISITS_PER_WINDOW);
  expect(begun).toBeGreaterThanOrEqual(0.75 * seed);
  const share = (moment: Moment, what: keyof Stay) => {
    const list = stays.get(moment) ?? [];
    return list.filter((one) => one[what]).length / list.length;
  };
  expect(share("after the end", "served")).toBe(1);
  expect(share("in sound", "heard")).toBe(1);

  // V8 takes room in steps of up to 16 MB whenever it likes; what is lost with each session shows every time.
  const growth = Math.min(...marks.slice(1).map((mark, i) => mark - (marks[i] ?? mark)));
  expect(growth, `resident MB: ${marks.map((mark) => mark.toFixed(1)).join(" ")}`).toBeLessThan(3);
  expect(await speakAlone()).toEqual(alone);
  console.log(
    `${seed} sessions, ${begun} in the engine; resident MB ${marks.map((mark) => mark.toFixed(1)).join(" ")}`,
  );
}, 600_000);
