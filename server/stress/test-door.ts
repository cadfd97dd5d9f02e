/** A server for tests that answers on the test's clock: how long it takes, and whether it answers at all, is the test's. */
import { SonantError } from "../protocol/client/index.ts";
import type { Door, LoadRequest } from "./doors.ts";
import type { TestClock } from "./test-clock.ts";
import type { StressPlan } from "./types.ts";

/** What becomes of a request. Times in milliseconds. */
export interface Fate {
  readonly ttfpMs?: number;
  /** Of two chunks, the second of which comes this long after the first. */
  readonly gapMs?: number;
  /** Sound in each of them. */
  readonly chunkMs?: number;
  readonly bytes?: Uint8Array;
  readonly error?: SonantError;
}

export const overloaded = (retryAfterMs?: number) =>
  new SonantError("overloaded", undefined, { retryAfterMs });

export class TestServer {
  /** When requests began, what was asked, and how many were under way at once. */
  readonly begun: { readonly atMs: number; readonly request: LoadRequest }[] = [];
  most = 0;
  #running = 0;
  readonly #clock: TestClock;
  readonly #fate: (number: number, running: number) => Fate;

  /** @param fate of a request, by its number from 0 and how many are under way with it */
  constructor(clock: TestClock, fate: (number: number, running: number) => Fate = () => ({})) {
    this.#clock = clock;
    this.#fate = fate;
  }

  readonly open = (): Door => ({
    prepare: async () => async (request, reader, signal) => {
      const { now, wait } = this.#clock;
      this.begun.push({ atMs: now(), request });
      this.#running += 1;
      this.most = Math.max(this.most, this.#running);
      const fate = this.#fate(this.begun.length - 1, this.#running);
      const {
        ttfpMs = 10,
        gapMs = 90,
        chunkMs = 500,
        bytes = new Uint8Array([1, 2]),
        error,
      } = fate;
      try {
        await wait(ttfpMs, signal);
        if (signal.aborted) throw new SonantError("aborted");
        if (error !== undefined) throw error;
        reader.chunk(bytes, chunkMs, { sampleRate: 8000, channels: 1 });
        await wait(gapMs, signal);
        if (signal.aborted) throw new SonantError("aborted");
        reader.chunk(bytes, chunkMs, { sampleRate: 8000, channels: 1 });
        await reader.finished(signal);
      } finally {
        this.#running -= 1;
      }
    },
    close: async () => {},
  });
}

/** A plan with everything at hand; what a test is about it says itself. */
export function planWith(changes: Partial<StressPlan> = {}): StressPlan {
  return {
    target: "http",
    shape: { kind: "fixed", concurrency: 1 },
    seconds: 1,
    texts: { name: "own", items: ["one", "two", "three"] },
    voices: [],
    seed: 1,
    warmup: 0,
    limits: {},
    maxRequests: 100_000,
    maxSeconds: 900,
    source: "server",
    processes: 1,
    probe: false,
    realTimeReaders: false,
    ...changes,
  };
}

/** Answers like `/version` of a server, and like nothing else. */
export const versionFetch: typeof globalThis.fetch = async (input) =>
  String(input).endsWith("/version")
    ? Response.json({ version: "1.2.3", model: "m", device: "cpu", config_sha256: "ab".repeat(32) })
    : new Response("", { status: 404 });
