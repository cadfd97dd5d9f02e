/**
 * Plays a socket case of speech-api-cases.json against a server: sends what its client sends, and checks what arrives by
 * the rules in the file's `meta.ws` and `meta.matching`. Names of voices and native rates of the file's test doubles stand
 * for those of the server.
 */
import { decodeTagged } from "../protocol/tagged-frame.ts";
import { filled, type WireCase } from "../protocol/test-cases.ts";
import { wavHeader } from "../protocol/wav.ts";
import { atLeast, atMost, contains, holds, oneOf, same, wrong } from "./check.ts";
import { TestSocket } from "./test-socket.ts";

/** The server behind the socket, as far as a case looks at it. */
export interface Stage {
  /** Address of the server, beginning with `ws`. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Hz of the model. */
  readonly sampleRate: number;
  /** Longest chunk, in milliseconds. */
  readonly chunkMs: number;
  /** Voices of this server, by the names that the file's test doubles have. */
  readonly voices: Readonly<Record<string, string>>;
  /** Generations that were cancelled so far. */
  aborts(): number | Promise<number>;
  /** Whether the engine holds nothing. */
  isIdle(): boolean | Promise<boolean>;
  /** Sum of all series of a metric. */
  metric(name: string): Promise<number>;
  /** Stops or starts the flow of bytes to the client that came last, where the server's end is at hand. */
  hold?(isHeld: boolean): void | Promise<void>;
}

/** One step of a case. */
interface Step {
  readonly send?: Record<string, unknown>;
  readonly send_raw?: string;
  readonly send_binary_hex?: string;
  readonly expect?: Record<string, unknown>;
  readonly contains?: readonly string[];
  readonly save?: readonly string[];
  readonly skip_binary?: boolean;
  readonly expect_binary?: BinaryRun;
  readonly drain_binary?: boolean;
  readonly expect_silence_ms?: number;
  readonly expect_close?: { readonly codes?: readonly number[] };
  readonly client_close?: number;
  readonly client_drop?: boolean;
  readonly reconnect?: boolean;
  readonly second_connection?: readonly Step[];
  readonly stop_reading?: boolean;
  readonly read_ms?: number;
  readonly wait_ms?: number;
  readonly assert?: { readonly sent_audio_ms: { readonly max: number } };
}

interface BinaryRun {
  readonly min_frames?: number;
  readonly max_frames?: number;
  readonly starts_with_hex?: string;
  readonly frame_multiple?: number;
  readonly then_continue?: boolean;
  readonly tagged?: {
    readonly seq_from: number;
    readonly first_flag_on_first?: boolean;
    readonly last_flag_on_last?: boolean;
    readonly replayed_flag_on_first?: boolean;
  };
}

interface After {
  readonly engine_aborts?: number;
  readonly metric?: Readonly<Record<string, number>>;
}

/** A clip of the file's kind that can be decoded: its own has no samples. */
function toneClip(): string {
  const pcm = Float32Array.from({ length: 3 * 24_000 }, (_, i) => {
    const noise = 0.02 * Math.sin(i * i * 0.37);
    return 0.3 * (Math.sin((2 * Math.PI * 220 * i) / 24_000) + noise);
  });
  const samples = Int16Array.from(pcm, (sample) => sample * 32_767);
  const header = wavHeader({ sampleRate: 24_000, channels: 1 }, samples.byteLength);
  const bytes = Buffer.concat([header, Buffer.from(samples.buffer)]);
  return `data:audio/wav;base64,${bytes.toString("base64")}`;
}

/** How long what a case waits for may take, in milliseconds. */
const PATIENCE_MS = 60_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export class Player {
  readonly #stage: Stage;
  readonly #path: string;
  readonly #saved = new Map<string, string>();
  #client: TestSocket;
  /** When the client last said something. */
  #sentAt = 0;

  constructor(stage: Stage, path: string) {
    this.#stage = stage;
    this.#path = path;
    this.#client = this.#connect();
  }

  async play(wireCase: WireCase): Promise<void> {
    const stage = this.#stage;
    const abortsBefore = await stage.aborts();
    await this.#steps(wireCase.frames as readonly Step[]);
    this.#leave(this.#client);
    const { after } = wireCase as { after?: After };
    if (after !== undefined) {
      await until("the engine is idle", () => stage.isIdle());
      const wanted = after.engine_aborts ?? 0;
      await until("the aborts", async () => (await stage.aborts()) - abortsBefore >= wanted);
      for (const [name, value] of Object.entries(after.metric ?? {})) {
        await until(`${name} is ${value}`, async () => (await stage.metric(name)) === value);
      }
    }
  }

  #connect(): TestSocket {
    const { url, headers = {} } = this.#stage;
    return new TestSocket(url + this.#path, { headers });
  }

  #leave(client: TestSocket): void {
    same("promises that were broken", client.broken, []);
    client.socket.terminate();
  }

  async #steps(steps: readonly Step[]): Promise<void> {
    await this.#client.opened;
    for (const [at, step] of steps.entries()) {
      // A client that leaves next does not wait for the end of what it hears.
      const leaves = steps[at + 1]?.client_close !== undefined;
      const run = step.expect_binary && { then_continue: leaves, ...step.expect_binary };
      await this.#step(run === undefined ? step : { ...step, expect_binary: run });
    }
  }

  async #step(step: Step): Promise<void> {
    const { socket } = this.#client;
    if (step.send !== undefined) this.#send(step.send);
    if (step.send_raw !== undefined) socket.send(step.send_raw);
    if (step.send_binary_hex !== undefined) socket.send(Buffer.from(step.send_binary_hex, "hex"));
    if (step.expect !== undefined) await this.#expectMessage(step, step.expect);
    if (step.expect_binary !== undefined) await this.#expectBinary(step.expect_binary);
    if (step.drain_binary) await this.#skipAudio();
    if (step.expect_silence_ms !== undefined) {
      const next = await this.#client.next(step.expect_silence_ms);
      holds(next === undefined, () => `${next?.kind} came where nothing should`);
    }
    if (step.expect_close !== undefined) await this.#expectClose(step.expect_close);
    if (step.client_close !== undefined) socket.close(step.client_close);
    if (step.client_drop) socket.terminate();
    if (step.reconnect) await this.#reconnect();
    if (step.second_connection !== undefined) await this.#beside(step.second_connection);
    if (step.stop_reading) await this.#stopReading();
    if (step.read_ms !== undefined) await this.#readFor(step.read_ms);
    if (step.wait_ms !== undefined) await pause(step.wait_ms);
    if (step.assert !== undefined) this.#checkSent(step.assert.sent_audio_ms.max);
  }

  #send(written: Record<string, unknown>): void {
    const message = Object.fromEntries(
      Object.entries(written).map(([key, value]) => [key, this.#filled(key, value)]),
    );
    if (message.type === "session.config") {
      this.#client.tagged = message.binary_framing === "tagged";
    }
    this.#sentAt = performance.now();
    this.#client.send(message);
  }

  #filled(key: string, value: unknown): unknown {
    if (typeof value !== "string") return value;
    if (key === "voice") return this.#stage.voices[value.toLowerCase()] ?? value;
    if (value === "{{fixture:ref_3s_data_url}}") return toneClip();
    // Placeholders may stand inside of a longer text, and the saved ones anywhere.
    return value
      .replaceAll(/\{\{fixture:\w+\}\}/g, (placeholder) => String(filled(placeholder)))
      .replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => this.#saved.get(name) ?? "");
  }

  async #expectMessage(step: Step, wanted: Record<string, unknown>): Promise<void> {
    let next = await this.#client.next();
    const isSkipped = () =>
      (next?.kind === "message" && next.message.type === "flow") ||
      (step.skip_binary === true && next?.kind === "audio");
    while (isSkipped()) next = await this.#client.next();
    if (next?.kind !== "message") {
      return wrong(`wanted ${wanted.type}, got ${next?.kind}: ${this.#client.summary()}`);
    }
    contains("the message", next.message, this.#own(wanted));
    const text = String(next.message.message ?? "").toLowerCase();
    for (const part of step.contains ?? []) {
      holds(text.includes(part.toLowerCase()), () => `no "${part}" in "${text}"`);
    }
    for (const name of step.save ?? []) this.#saved.set(name, String(next.message[name]));
  }

  /** What is expected of this house: its rate is its model's. */
  #own(wanted: Record<string, unknown>): Record<string, unknown> {
    if (wanted.sample_rate === undefined) return wanted;
    return { ...wanted, sample_rate: this.#stage.sampleRate };
  }

  /** Audio up to the next message, or as much as is wanted if the run goes on. */
  async #expectBinary(run: BinaryRun): Promise<void> {
    const frames: Uint8Array[] = [];
    const { min_frames: least = 0, max_frames: most, then_continue: goesOn } = run;
    while (!(goesOn && frames.length >= least)) {
      if ((await this.#client.peek())?.kind !== "audio") break;
      const next = await this.#client.next();
      if (next?.kind === "audio") frames.push(next.bytes);
    }
    atLeast("the number of binary messages", frames.length, least);
    if (most !== undefined) atMost("the number of binary messages", frames.length, most);
    const first = Buffer.from(frames[0] ?? []).toString("hex");
    holds(first.startsWith(run.starts_with_hex ?? ""), `audio begins with ${first.slice(0, 32)}`);
    for (const { length } of frames) {
      same("what is left of a whole frame", length % (run.frame_multiple ?? 1), 0);
    }
    if (run.tagged !== undefined) checkTags(frames, run.tagged);
  }

  async #skipAudio(): Promise<void> {
    while ((await this.#client.peek())?.kind === "audio") await this.#client.next();
  }

  async #expectClose({ codes }: { readonly codes?: readonly number[] }): Promise<void> {
    await this.#stage.hold?.(false);
    this.#client.socket.resume();
    const { code } = await this.#client.closed();
    if (codes !== undefined) oneOf("the close code", code, codes);
  }

  async #reconnect(): Promise<void> {
    const { tagged } = this.#client;
    this.#leave(this.#client);
    this.#client = this.#connect();
    this.#client.tagged = tagged;
    await this.#client.opened;
  }

  async #beside(steps: readonly Step[]): Promise<void> {
    const first = this.#client;
    this.#client = this.#connect();
    await this.#steps(steps);
    this.#leave(this.#client);
    this.#client = first;
  }

  /** Neither reads nor lets the network take anything, since the system's own buffers differ between machines. */
  async #stopReading(): Promise<void> {
    this.#client.socket.pause();
    await this.#stage.hold?.(true);
  }

  async #readFor(ms: number): Promise<void> {
    const end = performance.now() + ms;
    while (performance.now() < end) await this.#client.next(end - performance.now());
  }

  /** The limits of the file are for one second of reading and chunks of one second; both may be longer here. */
  #checkSent(maxMs: number): void {
    const { sampleRate, chunkMs } = this.#stage;
    const sentMs = (this.#client.audio().length / 2 / sampleRate) * 1000;
    const readMs = performance.now() - this.#sentAt;
    atMost("the audio that was sent, in ms", sentMs, maxMs + readMs - 1000 + chunkMs - 1000);
  }
}

/** Waits for what happens a moment after the client has left. @throws Mismatch */
async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await isTrue())) {
    holds(performance.now() < end, `not so within ${PATIENCE_MS} ms: ${what}`);
    await pause(10);
  }
}

function checkTags(frames: readonly Uint8Array[], wanted: NonNullable<BinaryRun["tagged"]>): void {
  const tags = frames.map((frame) => decodeTagged(frame)?.tag);
  const list = <T>(pick: (tag: (typeof tags)[number]) => T) => tags.map(pick);
  const each = <T>(value: (i: number) => T) => frames.map((_, i) => value(i));
  const last = frames.length - 1;
  same(
    "the numbers of the audio",
    list((tag) => tag?.seq),
    each((i) => wanted.seq_from + i),
  );
  if (wanted.first_flag_on_first) {
    same(
      "the first flags",
      list((tag) => tag?.first),
      each((i) => i === 0),
    );
  }
  if (wanted.last_flag_on_last) {
    same(
      "the last flags",
      list((tag) => tag?.last),
      each((i) => i === last),
    );
  }
  if (wanted.replayed_flag_on_first) same("the replayed flag", tags[0]?.replayed, true);
}
