/** Sessions over the real engine and the starter model: equality in company and across doors, and letting go. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Engine } from "../engine/engine.ts";
import { loadModel } from "../models/registry.ts";
import type { Model } from "../models/types.ts";
import { SonantSpeechService } from "./service.ts";
import { CONFIG, hashOf, only, pcmOf, REQUEST, readUntil } from "./test-house.ts";
import type { SessionRequest } from "./types.ts";

const FOLDER = join(import.meta.dirname, "../../native/models/starter");
const TEXT = "The door is open. Please come in now.";

let model: Model;
let service: SonantSpeechService;

beforeAll(async () => {
  model = await loadModel(FOLDER);
  service = new SonantSpeechService({
    model,
    config: CONFIG,
    loadEngine: () =>
      Engine.load({
        lmFolder: join(FOLDER, "lm"),
        codecFolder: join(FOLDER, "codec"),
        threads: 1,
        limits: { maxSequences: CONFIG.engine.maxSequences },
      }),
  });
  await service.start();
});
afterAll(() => service.close());

function open(request: Partial<SessionRequest> = {}) {
  return service.open({
    ...REQUEST,
    voice: model.voice(undefined),
    sampleRate: model.audio.sampleRate,
    ...request,
  });
}

async function speak(pieces: Iterable<string>, request: Partial<SessionRequest> = {}) {
  const session = open(request);
  for (const piece of pieces) session.push(piece);
  session.end();
  const events = await readUntil(session.events, "utterance-end");
  await session.close();
  return { events, hash: hashOf(pcmOf(events)) };
}

it("gives the same samples alone and in company, at once and letter by letter, whatever the door", async () => {
  const alone = await speak([TEXT], { transport: "http" });
  const end = only(alone.events, "utterance-end")[0];
  expect(end).toMatchObject({ units: 2, truncated: false, seed: 5n });
  expect(end?.durationMs).toBeGreaterThan(0.05 * 1000 * TEXT.length);
  expect(end?.usage.referenceFrames).toBeGreaterThan(0);
  for (const unit of only(alone.events, "unit-end")) {
    expect(unit.ttfaMs).toBeGreaterThan(0);
    expect(unit.rtf).toBeGreaterThan(0);
  }
  const [same, other] = await Promise.all([
    speak(TEXT, { maxLeadMs: 60_000, chunkPolicy: "adaptive" }),
    speak([TEXT], { seed: 6n }),
    speak(["Somebody else is talking at the same time."], { seed: 7n, speed: 1.5 }),
  ]);
  expect(same.hash).toBe(alone.hash);
  expect(other.hash).not.toBe(alone.hash);
});

it("frees the engine within a few frames of a cancel", async () => {
  const session = open();
  session.push(
    "The ferry timetable changes on the first weekend of every month, so please check it. ".repeat(
      3,
    ),
  );
  await readUntil(session.events, "audio");
  const { frames } = service.host.engine.stats();
  session.cancel("utterance");
  await readUntil(session.events, "utterance-end");
  while (service.host.engine.stats().live > 0)
    await new Promise((resolve) => setImmediate(resolve));
  expect(service.host.engine.stats().frames - frames).toBeLessThanOrEqual(8);
  session.push("Fresh start.");
  session.end();
  expect((await readUntil(session.events, "utterance-end")).at(-1)).toMatchObject({
    utterance: 1,
    units: 1,
  });
  await session.close();
  expect(service.host.engine.stats()).toMatchObject({ live: 0, waiting: 0, sequenceBytes: 0 });
});
