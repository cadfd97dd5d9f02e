/** A speech service over the tone engine, for tests: a model that counts words, a small configuration, a reader. */
import { createHash } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { ModelError } from "../models/errors.ts";
import type { Model, SegmentRequest } from "../models/types.ts";
import type { SpeechConfig } from "./options.ts";
import { type ServiceOptions, SonantSpeechService } from "./service.ts";
import { TONE_FORMAT, ToneEngine, toneEngine } from "./test-engine.ts";
import type { SessionRequest, SpeechEvent, SpeechSession } from "./types.ts";

export const MODEL = {
  name: "tone",
  defaultVoice: "clara",
  sampling: { audioTemperature: 0.4, audioRepetitionPenalty: 1.1 },
  limits: { segmentTokens: 40, segmentWords: 40, firstSegmentTokens: 16, maxFrames: 100 },
  audio: { sampleRate: 8000, channels: 2, samplesPerFrame: 640, framesPerSecond: 12.5 },
  countTokens: (text: string) => text.split(/\s+/).filter((word) => /\w/.test(word)).length,
  planSegment: ({ text, voice, maxFrames }: SegmentRequest) => {
    if (text.includes("unspeakable")) {
      throw new ModelError("request_invalid", "text", "text must be speakable");
    }
    return {
      prefixKey: typeof voice === "object" ? voice.kind : "preset",
      prefixRows: new Int32Array(1),
      textRows: Int32Array.from(text, (char) => char.codePointAt(0) ?? 0),
      rowWidth: 1,
      maxFrames: maxFrames ?? 100,
    };
  },
} as unknown as Model;

export const CONFIG: SpeechConfig = {
  engine: { maxSequences: 4, maxQueue: 8 },
  sampling: {
    textTemperature: undefined,
    textTopP: undefined,
    textTopK: undefined,
    audioTemperature: undefined,
    audioTopP: undefined,
    audioTopK: undefined,
    audioRepetitionPenalty: undefined,
    maxFrames: undefined,
    seed: undefined,
  },
  chunks: {
    policy: "fixed",
    steadyFrames: 4,
    firstFrames: 1,
    ramp: [1, 2, 4],
    minFrames: 1,
    marginMs: 50,
    rampDivisor: 15,
    deltaMin: 2,
  },
  sockets: { defaultSplit: "sentence" },
  voices: { default: undefined },
  limits: { ws_buffer_chars: 1000, ws_queued_units: 8 },
};

export const REQUEST: SessionRequest = {
  requestId: "r1",
  transport: "ws",
  format: "pcm",
  voice: { kind: "none" },
  voiceKind: "preset",
  seed: 5n,
  speed: 1,
  sampleRate: TONE_FORMAT.sampleRate,
  channels: 1,
  maxLeadMs: Number.POSITIVE_INFINITY,
};

export interface House {
  readonly service: SonantSpeechService;
  /** All engines that were loaded; the last one is in use. */
  readonly natives: ToneEngine[];
  /** The engine in use, without its warm-up among the generations. */
  readonly native: ToneEngine;
}

/** A service that is ready. */
export async function openHouse(options: Partial<ServiceOptions> = {}): Promise<House> {
  const natives: ToneEngine[] = [];
  const service = new SonantSpeechService({
    model: MODEL,
    config: CONFIG,
    loadEngine: async () => {
      const native = new ToneEngine();
      natives.push(native);
      return toneEngine(native);
    },
    ...options,
  });
  await service.start();
  const native = natives[0] as ToneEngine;
  native?.generations.splice(0);
  return { service, natives, native };
}

/** Everything that happens until the session ends. */
export async function readAll(session: SpeechSession): Promise<SpeechEvent[]> {
  const events: SpeechEvent[] = [];
  for await (const event of session.events) events.push(event);
  return events;
}

/** Reads until `kind` comes, that one included. */
export async function readUntil<Kind extends SpeechEvent["kind"]>(
  source: AsyncIterable<SpeechEvent> | AsyncIterator<SpeechEvent>,
  kind: Kind,
): Promise<SpeechEvent[]> {
  const events = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source;
  const read: SpeechEvent[] = [];
  for (;;) {
    const { value, done } = await events.next();
    if (done) throw new Error(`The events ended before ${kind}`);
    read.push(value);
    if (value.kind === kind) return read;
  }
}

/** Speaks whole texts and returns all events of the one utterance. */
export async function speak(
  { service }: Pick<House, "service">,
  pieces: Iterable<string>,
  request: Partial<SessionRequest> = {},
): Promise<SpeechEvent[]> {
  const session = service.open({ ...REQUEST, ...request });
  for (const piece of pieces) session.push(piece);
  session.end();
  const events = await readUntil(session.events[Symbol.asyncIterator](), "utterance-end");
  await session.close();
  return events;
}

export function only<Kind extends SpeechEvent["kind"]>(
  events: readonly SpeechEvent[],
  kind: Kind,
): Extract<SpeechEvent, { kind: Kind }>[] {
  return events.filter(
    (event): event is Extract<SpeechEvent, { kind: Kind }> => event.kind === kind,
  );
}

/** All samples, in order. */
export function pcmOf(events: readonly SpeechEvent[]): number[] {
  return only(events, "audio").flatMap(({ pcm }) => [...pcm]);
}

/** Length and content of samples, for comparisons. */
export function hashOf(pcm: readonly number[]): string {
  const hash = createHash("sha256").update(Float32Array.from(pcm));
  return `${pcm.length} ${hash.digest("hex").slice(0, 16)}`;
}

/** Lets everything that is possible happen. */
export async function settle(turns = 30): Promise<void> {
  for (let i = 0; i < turns; i++) await turn();
}

/** Kinds with their units; a run of equal ones counts once. */
export function shapeOf(events: readonly SpeechEvent[]): string[] {
  const shape = events.map((event) =>
    "unit" in event ? `${event.kind} ${event.unit}` : event.kind,
  );
  return shape.filter((line, i) => line !== shape[i - 1]);
}
