/**
 * Tries the API out: makes the request that the page shows as code, writes down everything that crosses the wire, and lets
 * the sound be heard. One trial at a time. Lives beside React.
 */
"use client";
import { create } from "zustand";
import {
  SonantError,
  type SpeechReceipt,
  SpeechSocket,
  type SpeechWish,
} from "../../server/protocol/client/index.ts";
import { client } from "../api/client.ts";
import { apiKey } from "../api/key.ts";
import { type Trouble, troubleOf } from "../api/trouble.ts";
import { sharedPlayer } from "../audio/player.ts";
import type { TakeAudio } from "../audio/take-audio.ts";
import { FrameLog } from "../playground/frame-log.ts";
import type { Wish } from "./code.ts";
import { TrialSound } from "./trial-sound.ts";

export interface TrialState {
  readonly phase: "empty" | "running" | "done" | "cancelled" | "failed";
  readonly trouble: Trouble | undefined;
  /** Why the sound cannot be heard although it arrived. */
  readonly soundTrouble: Trouble | undefined;
  /** Of the HTTP answer; undefined on sockets. */
  readonly status: number | undefined;
  /** From the request to the first bytes of sound, and to the end, in milliseconds. */
  readonly firstMs: number | undefined;
  readonly totalMs: number | undefined;
  /** Bytes of sound. */
  readonly bytes: number;
  readonly sound: TakeAudio | undefined;
  readonly log: FrameLog;
}

function fresh(): TrialState {
  return {
    phase: "empty",
    trouble: undefined,
    soundTrouble: undefined,
    status: undefined,
    firstMs: undefined,
    totalMs: undefined,
    bytes: 0,
    sound: undefined,
    log: new FrameLog(),
  };
}

export const useTrial = create<TrialState>()(fresh);

let current: Trial | undefined;

/** Begins a trial in place of the one before. Call it inside the gesture that asks for it. */
export function tryOut(wish: Wish): void {
  current?.cancel();
  sharedPlayer().unlock();
  useTrial.setState({ ...fresh(), phase: "running" });
  current = new Trial(wish);
  void current.run();
}

/** Stops the trial, and what is heard of it. */
export function cancelTrial(): void {
  current?.cancel();
  sharedPlayer().current?.stop();
}

/** Plays the sound of the last trial again. */
export function hearAgain(): void {
  const { sound } = useTrial.getState();
  if (sound === undefined) return;
  sharedPlayer().unlock();
  sharedPlayer().play(sound);
}

class Trial {
  readonly #wish: Wish;
  readonly #abort = new AbortController();
  readonly #startedAt = performance.now();
  readonly #log = useTrial.getState().log;
  #sound: TrialSound | undefined;
  #bytes = 0;

  constructor(wish: Wish) {
    this.#wish = wish;
  }

  async run(): Promise<void> {
    try {
      await this.#request();
      this.#end("done");
    } catch (error) {
      if (this.#abort.signal.aborted) this.#end("cancelled");
      else this.#end("failed", error);
    }
  }

  cancel(): void {
    this.#abort.abort();
  }

  #request(): Promise<void> {
    const requests = {
      whole: () => this.#whole(),
      stream: () => this.#stream(),
      events: () => this.#events(),
      socket: () => this.#socket(),
    };
    return requests[this.#wish.transport]();
  }

  // ---- over HTTP

  get #speechWish(): SpeechWish {
    const { input, model, voice, format, seed } = this.#wish;
    const own = model === undefined ? {} : { model };
    const response_format = format as NonNullable<SpeechWish["response_format"]>;
    return { ...own, input, voice, response_format, ...(seed === undefined ? {} : { seed }) };
  }

  get #client() {
    return client({ fetch: (input, init) => this.#fetch(input, init) });
  }

  /** Writes the request and the head of its answer into the log. */
  async #fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const body = typeof init?.body === "string" ? init.body : "";
    this.#note("out", `${init?.method ?? "GET"} ${String(input)}`, body.length, body);
    const response = await fetch(input, init);
    const text = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    this.#note("in", `HTTP ${response.status}`, text.length, text);
    this.#set({ status: response.status });
    return response;
  }

  async #whole(): Promise<void> {
    const { bytes, receipt } = await this.#client.speech(this.#speechWish, this.#options);
    this.#note("in", receipt.contentType, bytes.length);
    this.#hear(bytes, this.#formOf(receipt));
    await this.#fileEnds();
  }

  async #stream(): Promise<void> {
    const stream = await this.#client.stream(this.#speechWish, this.#options);
    for await (const { bytes } of stream) {
      this.#note("in", "audio", bytes.length);
      this.#hear(bytes, this.#formOf(stream.receipt));
    }
    await this.#fileEnds();
  }

  async #events(): Promise<void> {
    const stream = await this.#client.sse(this.#speechWish, this.#options);
    for await (const event of stream) {
      if (event.type === "done") {
        const text = JSON.stringify({ usage: event.usage });
        this.#note("in", "speech.audio.done", text.length, text);
        continue;
      }
      const { bytes, startMs, durationMs, ...form } = event;
      const text = JSON.stringify({ start_ms: startMs, duration_ms: durationMs });
      this.#note("in", "speech.audio.delta", bytes.length, text);
      this.#hear(bytes, form);
    }
    await this.#fileEnds();
  }

  get #options() {
    return { signal: this.#abort.signal };
  }

  #formOf({ sampleRate, channels }: SpeechReceipt) {
    return { format: this.#wish.format, sampleRate, channels };
  }

  // ---- on the socket

  async #socket(): Promise<void> {
    const { model, voice, format, seed, input } = this.#wish;
    const own = model === undefined ? {} : { model };
    const response_format = format as NonNullable<SpeechWish["response_format"]>;
    const socket = new SpeechSocket({
      baseUrl: "",
      apiKey: apiKey() || undefined,
      onFrame: (entry) => this.#log.add(entry),
    });
    const stop = () => socket.state === "open" && socket.cancel("all");
    this.#abort.signal.addEventListener("abort", stop);
    try {
      const wish = { ...own, voice, response_format, ...(seed === undefined ? {} : { seed }) };
      await socket.open(wish, this.#options);
      const events = socket.events();
      socket.sendText(input);
      socket.end();
      for await (const event of events) {
        if (event.type === "chunk" && event.bytes.length > 0) {
          const { sampleRate = 0, channels = 1 } = socket.session ?? {};
          this.#hear(event.bytes, { format, sampleRate, channels });
          if (format !== "pcm") await this.#fileEnds();
        }
        if (event.type === "error" && event.utterance !== undefined) throw event.error;
        if (event.type === "done" || event.type === "cancelled") break;
      }
      if (this.#abort.signal.aborted) throw new SonantError("aborted");
    } finally {
      this.#abort.signal.removeEventListener("abort", stop);
      await socket.close();
    }
  }

  // ---- what arrives

  #hear(bytes: Uint8Array, form: { format: string; sampleRate: number; channels: number }): void {
    this.#bytes += bytes.length;
    if (this.#sound === undefined) {
      this.#sound = new TrialSound(form);
      this.#set({ firstMs: performance.now() - this.#startedAt });
    }
    this.#guarded(() => this.#sound?.push(bytes));
    this.#set({ bytes: this.#bytes, sound: this.#sound.audio });
  }

  async #fileEnds(): Promise<void> {
    await this.#sound?.endFile().catch((error: unknown) => this.#unheard(error));
    this.#set({ sound: this.#sound?.audio });
  }

  /** A browser that cannot decode a format does not make the request a failure. */
  #guarded(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#unheard(error);
    }
  }

  #unheard(error: unknown): void {
    this.#set({ soundTrouble: troubleOf(error) });
  }

  #note(direction: "in" | "out", type: string, bytes: number, text?: string): void {
    const atMs = performance.now() - this.#startedAt;
    this.#log.add({ direction, type, seq: undefined, bytes, atMs, text });
  }

  #end(phase: TrialState["phase"], error?: unknown): void {
    this.#sound?.finish();
    this.#set({
      phase,
      trouble: error === undefined ? undefined : troubleOf(error),
      totalMs: performance.now() - this.#startedAt,
    });
  }

  /** A trial that was replaced has nothing more to say. */
  #set(change: Partial<TrialState>): void {
    if (current === this) useTrial.setState(change);
  }
}
