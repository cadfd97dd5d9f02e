/**
 * The probe: one seeded request, first alone and then again and again among the load. The same request gives the same
 * samples whoever speaks beside it; this is where that is looked at.
 */
import { joined, PlaybackMeter } from "../protocol/client/index.ts";
import type { Door, LoadRequest, Reader } from "./doors.ts";
import type { StressClock, StressDifference, StressPlan, StressProbe } from "./types.ts";

/** Time between two repetitions, in milliseconds: it is to look at the load and not to add to it. */
const PAUSE_MS = 1000;

export class Probe {
  readonly #door: Door;
  readonly #request: LoadRequest;
  readonly #clock: StressClock;
  #reference: Uint8Array | undefined;
  #sha256: string | null = null;
  #runs = 0;
  #equal = 0;
  #unanswered = 0;
  #firstDifference: StressDifference | null = null;

  /** @param door of its own, for readers who are not in real time */
  constructor(plan: StressPlan, door: Door, clock: StressClock) {
    this.#door = door;
    this.#request = {
      text: plan.texts.items[0] ?? "",
      voice: plan.voices[0],
      seed: plan.seed,
    };
    this.#clock = clock;
  }

  read(): StressProbe {
    const { text, voice, seed } = this.#request;
    return {
      runs: this.#runs,
      equal: this.#equal,
      unanswered: this.#unanswered,
      sha256: this.#sha256,
      seed,
      text,
      voice: voice ?? null,
      firstDifference: this.#firstDifference,
    };
  }

  /** Speaks it alone. @throws SonantError */
  async alone(signal: AbortSignal): Promise<void> {
    this.#reference = await this.#samples(signal);
    this.#sha256 = await sha256(this.#reference);
  }

  /** Speaks it again and again until the signal comes. Says nothing if it was never spoken alone. */
  async repeat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#reference !== undefined) {
      try {
        await this.#compare(await this.#samples(signal));
      } catch {
        // What a loaded server does not answer is counted by the load as well.
        if (!signal.aborted) this.#unanswered += 1;
      }
      await this.#clock.wait(PAUSE_MS, signal);
    }
  }

  close(): Promise<void> {
    return this.#door.close();
  }

  async #compare(samples: Uint8Array): Promise<void> {
    const reference = this.#reference ?? new Uint8Array(0);
    this.#runs += 1;
    const byte = firstDifference(reference, samples);
    if (byte === undefined) {
      this.#equal += 1;
      return;
    }
    if (this.#firstDifference !== null) return;
    const difference = {
      run: this.#runs,
      byte,
      expectedBytes: reference.length,
      bytes: samples.length,
    };
    // Told at once; whoever reads before the hash is there gets it without.
    this.#firstDifference = { ...difference, sha256: null };
    this.#firstDifference = { ...difference, sha256: await sha256(samples) };
  }

  async #samples(signal: AbortSignal): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    const meter = new PlaybackMeter({ now: this.#clock.now });
    const reader: Reader = {
      chunk: (bytes) => void parts.push(bytes),
      playedMs: () => meter.read().playedMs,
      finished: async () => {},
    };
    const speak = await this.#door.prepare(signal);
    await speak(this.#request, reader, signal);
    return joined(parts);
  }
}

/** Where two sounds part; undefined if they are equal. */
export function firstDifference(a: Uint8Array, b: Uint8Array): number | undefined {
  const both = Math.min(a.length, b.length);
  for (let at = 0; at < both; at++) if (a[at] !== b[at]) return at;
  return a.length === b.length ? undefined : both;
}

/** Hex; null where the platform has none, as in pages without TLS. */
async function sha256(bytes: Uint8Array): Promise<string | null> {
  const subtle: SubtleCrypto | undefined = globalThis.crypto.subtle;
  if (subtle === undefined) return null;
  const digest = await subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
