/**
 * Makes takes: opens a session for each, brings its text in and its sound out, and writes down what was measured on the
 * way. Lives beside React: a take goes on whatever is mounted.
 */
"use client";
import { create } from "zustand";
import {
  type FrameLogEntry,
  type SegmentDoneEvent,
  type SocketWish,
  SpeechSocket,
} from "../../server/protocol/client/index.ts";
import { apiKey } from "../api/key.ts";
import { troubleOf } from "../api/trouble.ts";
import { sharedPlayer } from "../audio/player.ts";
import { TakeAudio } from "../audio/take-audio.ts";
import { storeTake } from "../store/history.ts";
import {
  type Arrival,
  addTake,
  changeTake,
  keepSound,
  type Take,
  type TakeRequest,
  takeById,
} from "../store/takes.ts";
import { voiceUsed } from "../store/voices.ts";
import { FrameLog } from "./frame-log.ts";
import { hashOf, headSilenceMs, randomId } from "./measure.ts";
import { estimateSeconds } from "./paste.ts";
import { leadMs, playSound, silence } from "./playing.ts";
import { splitTtfp } from "./ttfp.ts";

const SAMPLE_RATE = 48_000;
const CHANNELS = 2;
/** Takes are made ahead of being heard, up to this much: longer than most, so that a slot at the server is free early. */
const MAX_LEAD_MS = 600_000;
/** The server's time to confirm a stop before the page gives up on the connection. */
const STOP_PATIENCE_MS = 2000;

/** A fast engine brings a chunk every few milliseconds; the page tells of them this often. */
const NOTE_MS = 120;

/** A take that is interrupted for longer than about ten seconds is given up, and says so. */
const RECONNECT = { attempts: 6, baseMs: 250, maxMs: 3000 };

interface SpeakingState {
  /** Takes that are being made. */
  readonly active: ReadonlySet<string>;
  /** The take whose sound is heard while it is made. */
  readonly heard: string | undefined;
}

export const useSpeaking = create<SpeakingState>()(() => ({
  active: new Set<string>(),
  heard: undefined,
}));

/** Sessions by take. */
const jobs = new Map<string, Job>();
const frameLogs = new Map<string, FrameLog>();

/** Forgets the messages of a take that is gone. */
export function dropFrameLog(id: string): void {
  frameLogs.delete(id);
}

/** Messages of the session that made a take in this visit. */
export function frameLogOf(id: string | undefined): FrameLog | undefined {
  return id === undefined ? undefined : frameLogs.get(id);
}

export interface SpeakOptions {
  /** False: the take is made without being played. */
  readonly isHeard?: boolean;
  /** True: the session stays open for text that is still to come; see `typeText`. */
  readonly isLive?: boolean;
  /** When the visitor asked for it, on the clock of `performance.now()`. */
  readonly askedAt?: number;
}

/**
 * Begins a take. Call it inside the gesture that asks for it, so that the browser lets it be heard.
 * @returns id of the take
 */
export function speak(request: TakeRequest, options: SpeakOptions = {}): string {
  const { isHeard = true, isLive = false, askedAt = performance.now() } = options;
  const id = randomId();
  if (isHeard) {
    sharedPlayer().unlock(SAMPLE_RATE);
    silence();
  }
  addTake(id, request);
  voiceUsed(request.voice);
  const job = new Job(id, request, { isHeard, isLive, askedAt });
  jobs.set(id, job);
  useSpeaking.setState(({ active, heard }) => ({
    active: new Set(active).add(id),
    heard: isHeard ? id : heard,
  }));
  void job.run();
  return id;
}

/** Sends text that was typed, to a take that was begun with `isLive`. */
export function typeText(id: string, text: string): void {
  jobs.get(id)?.type(text);
}

export function flushText(id: string): void {
  jobs.get(id)?.flush();
}

/** No more text will come. */
export function endText(id: string): void {
  jobs.get(id)?.end();
}

/** Stops what is heard and whatever is being made. */
export function stopAll(): void {
  silence();
  for (const job of jobs.values()) job.stop();
}

class Job {
  readonly #id: string;
  readonly #request: TakeRequest;
  readonly #options: Required<SpeakOptions>;
  readonly #sound = new TakeAudio<number>({ sampleRate: SAMPLE_RATE, channels: CHANNELS });
  readonly #socket: SpeechSocket;
  /** When the take was asked for; of a live one, when the text was there that its first sentence waited for. */
  #askedAt: number;
  /** UTF-16 units of text so far. */
  #textEnd: number;
  /** What was typed: how far it went, and when. A flush goes one further, since what it ends waits for nothing more. */
  readonly #given: { readonly end: number; readonly atMs: number }[] = [];
  #firstChunkAt: number | undefined;
  #firstOutAt: number | undefined;
  #firstSegment: SegmentDoneEvent | undefined;
  #stoppedAt: number | undefined;
  #rtfs: { rtf: number; ms: number }[] = [];
  /** Chunks that the take does not tell of yet. */
  #arrivals: Arrival[] = [];
  #noting: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  constructor(id: string, request: TakeRequest, options: Required<SpeakOptions>) {
    this.#id = id;
    this.#request = request;
    this.#options = options;
    this.#askedAt = options.askedAt;
    this.#textEnd = request.text.length;
    const log = new FrameLog();
    frameLogs.set(id, log);
    this.#socket = new SpeechSocket({
      baseUrl: "",
      apiKey: apiKey() || undefined,
      acks: "manual",
      reconnect: RECONNECT,
      onFrame: (entry: FrameLogEntry) => log.add(entry),
    });
    keepSound(id, this.#sound);
    this.#listen();
  }

  async run(): Promise<void> {
    if (this.#options.isHeard) this.#play();
    try {
      const opening = this.#socket.open(wishOf(this.#request));
      // Text follows at once: waiting for the answer would delay the first sound.
      const { text } = this.#request;
      if (text !== "") this.#socket.sendText(text);
      if (!this.#options.isLive) this.#socket.end();
      await opening;
    } catch (error) {
      this.#finish(this.#stoppedAt === undefined ? "failed" : "stopped", error);
    }
  }

  type(text: string): void {
    if (this.#isOver) return;
    this.#socket.sendText(text);
    this.#textEnd += text.length;
    this.#give(this.#textEnd);
    changeTake(this.#id, ({ request }) => ({ request: { ...request, text: request.text + text } }));
  }

  flush(): void {
    if (this.#isOver) return;
    this.#socket.flush();
    this.#give(this.#textEnd + 1);
  }

  end(): void {
    if (this.#isOver) return;
    this.#socket.end();
    this.#give(this.#textEnd + 1);
  }

  #give(end: number): void {
    this.#given.push({ end, atMs: performance.now() });
  }

  /** When a sentence had what it waited for: its text, and a sign that it ends there. */
  #givenAt(textEnd: number): number {
    const given = this.#given.find(({ end }) => end > textEnd) ?? this.#given.at(-1);
    return given?.atMs ?? this.#options.askedAt;
  }

  /** Asks the server to stop; what has arrived is kept. */
  stop(): void {
    if (this.#isOver || this.#stoppedAt !== undefined) return;
    this.#stoppedAt = performance.now();
    if (this.#socket.state === "open") {
      this.#socket.cancel("all");
      setTimeout(() => this.#finish("stopped"), STOP_PATIENCE_MS);
    } else {
      this.#finish("stopped");
    }
  }

  #play(): void {
    const { text, speed } = this.#request;
    const playback = playSound(this.#id, this.#sound, {
      live: true,
      ...(text === "" ? {} : { expectedSeconds: estimateSeconds(text) / speed }),
    });
    playback.on("firstSampleOut", ({ atMs }) => {
      this.#firstOutAt = atMs;
      changeTake(this.#id, { ttfpMs: atMs - this.#askedAt });
      this.#split();
    });
  }

  #listen(): void {
    const id = this.#id;
    const socket = this.#socket;
    socket.on("state", ({ state }) => {
      const isReconnecting = state === "reconnecting" || state === "connecting";
      if (socket.session !== undefined) changeTake(id, { isReconnecting });
    });
    socket.on("created", () => changeTake(id, { state: "generating" }));
    socket.on("queued", ({ place, expectedWaitMs }) =>
      changeTake(id, { state: "queued", queue: { place, waitMs: expectedWaitMs } }),
    );
    socket.on("segment", ({ text, textStart, textEnd }) => {
      const givenAt = this.#givenAt(textEnd ?? 0);
      if (this.#firstChunkAt === undefined) this.#askedAt = givenAt;
      const sentence = {
        text,
        textStart: textStart ?? 0,
        textEnd: textEnd ?? 0,
        givenAt,
        startMs: this.#durationMs(),
        endMs: undefined,
      };
      changeTake(id, ({ sentences }) => ({
        state: "generating",
        queue: undefined,
        sentences: [...sentences, sentence],
      }));
    });
    socket.on("chunk", ({ bytes, sentence, durationMs }) => {
      if (this.#stoppedAt !== undefined || bytes.length === 0) return;
      const at = performance.now();
      this.#firstChunkAt ??= at;
      const lead = this.#options.isHeard ? leadMs(id) : this.#durationMs();
      this.#sound.push(bytes, sentence);
      const arrival = {
        atMs: at - this.#askedAt,
        durationMs: durationMs ?? 0,
        leadMs: lead,
      };
      this.#arrived(arrival);
    });
    socket.on("segment_done", (event) => this.#segmentDone(event));
    socket.on("cancelled", () => this.#finish("stopped"));
    socket.on("done", () => this.#finish("done"));
    socket.on("error", ({ error, fatal, utterance }) => {
      // A text that was refused as a whole belongs to no utterance.
      const isRefused = error.code === "input_overflow" || error.code === "input_too_long";
      if (fatal || isRefused || utterance !== undefined) this.#finish("failed", error);
    });
  }

  /** Notes a chunk. All but the first wait a moment for the next ones, since each note draws the page anew. */
  #arrived(arrival: Arrival): void {
    this.#arrivals.push(arrival);
    if (this.#arrivals.length === 1 && this.#noting === undefined) this.#note();
    this.#noting ??= setTimeout(() => {
      this.#noting = undefined;
      this.#note();
    }, NOTE_MS);
  }

  #note(): void {
    if (this.#arrivals.length === 0) return;
    const added = this.#arrivals;
    this.#arrivals = [];
    changeTake(this.#id, ({ arrivals }) => ({
      ...(this.#isOver ? {} : { state: "generating" }),
      arrivals: [...arrivals, ...added],
      durationMs: this.#durationMs(),
    }));
  }

  #segmentDone(event: SegmentDoneEvent): void {
    this.#firstSegment ??= event;
    this.#note();
    if (event.rtf !== undefined && event.durationMs) {
      this.#rtfs.push({ rtf: event.rtf, ms: event.durationMs });
    }
    const total = this.#rtfs.reduce((sum, { ms }) => sum + ms, 0);
    const rtf = this.#rtfs.reduce((sum, { rtf, ms }) => sum + rtf * ms, 0) / total;
    changeTake(this.#id, ({ sentences }) => ({
      sentences: sentences.map((sentence) =>
        sentence.endMs === undefined ? { ...sentence, endMs: this.#durationMs() } : sentence,
      ),
      ...(total > 0 ? { rtf } : {}),
    }));
    this.#split();
  }

  /** Once both ends of it are known: what the server says of its first unit, and when the worklet began. */
  #split(): void {
    const { timing } = this.#firstSegment ?? {};
    if (timing === undefined || this.#firstOutAt === undefined) return;
    if (this.#firstChunkAt === undefined) return;
    const askedAt = this.#askedAt;
    changeTake(this.#id, {
      split: splitTtfp({
        arrivedMs: this.#firstChunkAt - askedAt,
        heardMs: this.#firstOutAt - askedAt,
        server: timing,
      }),
    });
  }

  #durationMs(): number {
    return (1000 * this.#sound.frames) / SAMPLE_RATE;
  }

  #finish(state: "done" | "stopped" | "failed", error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#noting);
    this.#note();
    const { isHeard } = this.#options;
    this.#sound.finish();
    void this.#socket.close();
    jobs.delete(this.#id);
    useSpeaking.setState(({ active, heard }) => {
      const left = new Set(active);
      left.delete(this.#id);
      return { active: left, heard: heard === this.#id ? undefined : heard };
    });
    if (isHeard && this.#sound.frames === 0) silence();
    changeTake(this.#id, {
      state,
      queue: undefined,
      isReconnecting: false,
      trouble: error === undefined ? undefined : troubleOf(error),
      durationMs: this.#durationMs(),
      headSilenceMs: headSilenceMs(this.#sound),
      ...(this.#stoppedAt === undefined ? {} : { stopMs: performance.now() - this.#stoppedAt }),
    });
    void this.#sign();
  }

  /** The receipt of the take, and its place in the history. */
  async #sign(): Promise<void> {
    const take = takeById(this.#id);
    if (take?.state === "done") changeTake(this.#id, { hash: await hashOf(this.#sound) });
    const signed: Take | undefined = takeById(this.#id);
    if (signed !== undefined) await storeTake(signed, true);
  }
}

function wishOf(request: TakeRequest): SocketWish {
  const { model, voice, seed, speed, temperature, audioTemperature, normalise } = request;
  return {
    ...(model === undefined ? {} : { model }),
    voice,
    seed,
    channels: CHANNELS,
    sample_rate: SAMPLE_RATE,
    max_lead_ms: MAX_LEAD_MS,
    ...(speed === 1 ? {} : { speed }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(audioTemperature === undefined ? {} : { audio_temperature: audioTemperature }),
    ...(normalise ? {} : { text_normalization: "off" }),
  };
}
