/**
 * A session as the wire sees it: turns the events of its speech into messages, in either dialect, and the messages of
 * the client into calls. Outlives its connection while it may be resumed. Never waits for a client to read: where there
 * is no room it stops reading events, and so pauses the generation.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { createEncoder } from "../audio/encode.ts";
import type { Encoder } from "../audio/encoder.ts";
import type { Speaker } from "../house/types.ts";
import { timedEncoder } from "../http/timed-encoder.ts";
import type { ClientMessage } from "../protocol/socket-client.ts";
import { generationError, type ServerMessage } from "../protocol/socket-server.ts";
import { encodeTagged } from "../protocol/tagged-frame.ts";
import { speechError } from "../speech/errors.ts";
import type { AudioReady, SpeechEvent, SpeechSession, UnitEnded } from "../speech/types.ts";
import type { RealtimeDeps, Sink } from "./deps.ts";
import { firstAudio } from "./first-audio.ts";
import { ReplayBuffer } from "./replay.ts";
import type { SocketSettings } from "./settings.ts";

export interface LiveOptions {
  readonly dialect: 1 | 2;
  readonly tagged: boolean;
  readonly resumable: boolean;
  /** The client wants to know its place in line. */
  readonly tellsQueue: boolean;
}

/** The unit whose audio is on its way. */
interface OpenUnit {
  readonly settings: SocketSettings;
  readonly utterance: number;
  readonly unit: number;
  readonly generation: number;
  readonly encoder: Encoder;
  parts: Uint8Array[];
  bytes: number;
  isFirst: boolean;
}

/** What a message counts for among the bytes that are kept, which is more than most have. */
const MESSAGE_BYTES = 512;

/** Length of pcm, the one format that leaves before its unit is complete. */
function pcmMs(bytes: number, { channels, sampleRate }: SocketSettings): number {
  return (1000 * bytes) / 2 / channels / sampleRate;
}

const joined = (parts: readonly Uint8Array[]): Uint8Array => Buffer.concat(parts);

export class LiveSession {
  readonly id = `ws_${randomUUID()}`;
  readonly token = randomBytes(24).toString("base64url");
  readonly options: LiveOptions;
  readonly #metrics: RealtimeDeps["metrics"];
  #settings: SocketSettings;
  readonly #speech: SpeechSession;
  readonly #replay = new ReplayBuffer();
  #sink: Sink | undefined;
  #attached: () => void = () => {};
  #unit: OpenUnit | undefined;
  #seq = 0;
  /** Number of the last counted message that was heeded. */
  #lastInputSeq = -1;
  #ended = false;
  /** Resolves when the speech has ended and nothing more will be sent. */
  readonly done: Promise<void>;

  /** @param speaker the model that it keeps to its end */
  constructor(
    deps: Pick<RealtimeDeps, "metrics">,
    readonly speaker: Speaker,
    settings: SocketSettings,
    options: LiveOptions,
  ) {
    this.options = options;
    this.#metrics = deps.metrics;
    this.#settings = settings;
    this.#speech = speaker.service.open({
      ...settings,
      requestId: this.id,
      transport: "ws",
      model: settings.wish.model,
    });
    this.done = this.#pump();
  }

  get settings(): SocketSettings {
    return this.#settings;
  }

  /** Whether the client waits for audio. */
  get isBusy(): boolean {
    return this.#speech.isBusy;
  }

  /** Whether there is text without the end that belongs to it, or audio that has not been sent. */
  get hasUtterance(): boolean {
    return this.#speech.hasUtterance;
  }

  /** Sends to this connection from now on. */
  attach(sink: Sink): void {
    this.#sink = sink;
    this.#attached();
  }

  /** The connection is gone; what is made until the next one waits. */
  detach(): void {
    this.#sink = undefined;
  }

  /** Sends again what followed audio message `lastSeq`. */
  resume(lastSeq: number): void {
    const { messages, fromSeq, lost } = this.#replay.after(lastSeq, this.#seq);
    this.#say({ type: "session.resumed", from_seq: fromSeq, lost });
    for (const message of messages) message.send();
  }

  update(settings: SocketSettings, apply: "next" | "now"): void {
    this.#settings = settings;
    this.#speech.update(settings, apply);
  }

  /** Whether a message with this number was heeded before, and comes again after a lost connection. */
  isRepeat(seq: number | undefined): boolean {
    return seq !== undefined && seq <= this.#lastInputSeq;
  }

  /** The message with this number has been heeded. */
  heeded(seq: number | undefined): void {
    this.#lastInputSeq = seq ?? this.#lastInputSeq;
  }

  /** @throws ApiError `input_overflow`; the message may then be sent again under its number */
  receive(message: ClientMessage): void {
    const seq = "seq" in message ? message.seq : undefined;
    if (this.isRepeat(seq)) return;
    this.#heed(message);
    this.heeded(seq);
  }

  #heed(message: ClientMessage): void {
    switch (message.type) {
      case "input.text":
        this.#speech.push(message.text);
        return;
      case "input.flush":
        this.#speech.flush();
        return;
      case "input.done":
      case "input.commit":
        this.#speech.end();
        return;
      case "input.cancel":
        this.#speech.cancel(message.scope, message.played_ms);
        return;
      case "playback.ack":
        this.#speech.played(message.utterance_index, message.played_ms);
        return;
      default:
    }
  }

  async close(): Promise<void> {
    this.#ended = true;
    this.#attached();
    await this.#speech.close();
    this.#unit?.encoder.close();
    this.#unit = undefined;
    this.#replay.clear();
  }

  async #pump(): Promise<void> {
    for await (const event of this.#speech.events) {
      await this.#room();
      if (this.#ended) return;
      await this.#send(event);
    }
  }

  /** Waits until the connection has room; a session without one waits for the next. */
  async #room(): Promise<void> {
    while (!this.#ended && this.#sink === undefined && this.options.resumable) {
      await new Promise<void>((resolve) => {
        this.#attached = resolve;
      });
    }
    await this.#sink?.room();
  }

  async #send(event: SpeechEvent): Promise<void> {
    switch (event.kind) {
      case "unit":
        return this.#begin(event);
      case "audio":
        return this.#audio(event);
      case "unit-end":
        return this.#finish(event);
      case "cancelled":
        return this.#cancelled(event);
      case "flow":
        if (this.options.dialect === 2) {
          this.#say({ type: "flow", state: event.state, lead_ms: Math.round(event.leadMs) });
        }
        return;
      case "utterance-end":
        if (event.error !== undefined) this.#failed(event.utterance, 0, event.error, false);
        this.#tell({
          type: "session.done",
          utterance_index: event.utterance,
          total_sentences: event.units,
        });
        return;
      case "queued":
        if (this.options.tellsQueue) {
          this.#say({
            type: "session.queued",
            place: event.place,
            expected_wait_ms: Math.round(event.expectedWaitMs),
          });
        }
        return;
    }
  }

  async #begin(event: Extract<SpeechEvent, { kind: "unit" }>): Promise<void> {
    // Those that the utterance was begun with, which may have been changed for the next one.
    const settings = event.settings as SocketSettings;
    const { format, streamAudio, sampleRate, channels } = settings;
    const encoder = timedEncoder(await createEncoder(format, { sampleRate, channels }), (seconds) =>
      this.#metrics.encoded(format, seconds),
    );
    if (this.#ended) {
      encoder.close();
      return;
    }
    this.#unit = {
      settings,
      utterance: event.utterance,
      unit: event.unit,
      generation: event.generation,
      encoder,
      parts: [],
      bytes: 0,
      isFirst: true,
    };
    const start = {
      type: "audio.start",
      utterance_index: event.utterance,
      sentence_index: event.unit,
      sentence_text: event.text,
      format,
      ...(streamAudio || this.options.dialect === 2 ? { sample_rate: sampleRate } : {}),
      channels,
    } as const;
    this.#tell(
      this.options.dialect === 1
        ? start
        : {
            ...start,
            generation: event.generation,
            request_id: `${this.id}-${event.utterance}-${event.unit}`,
            text_start: event.textStart,
            text_end: event.textEnd,
          },
    );
  }

  #audio({ pcm }: AudioReady): void {
    const unit = this.#unit;
    if (unit === undefined) return;
    const bytes = unit.encoder.push(pcm);
    if (bytes.length === 0) return;
    if (unit.settings.streamAudio) this.#binary(unit, bytes, false);
    else unit.parts.push(bytes);
  }

  #finish(event: UnitEnded): void {
    const unit = this.#unit;
    this.#unit = undefined;
    if (unit === undefined) return;
    const failed = event.error !== undefined;
    const rest = unit.encoder.end();
    unit.encoder.close();
    if (!failed && !event.cancelled) {
      if (rest.length > 0) unit.parts.push(rest);
      const whole = unit.settings.streamAudio ? rest : joined(unit.parts);
      // The last piece of a stream is known only afterwards; an empty message says so.
      if (whole.length > 0 || this.options.tagged) this.#binary(unit, whole, true);
    }
    if (event.error !== undefined) {
      this.#failed(unit.utterance, unit.unit, event.error, unit.bytes > 0);
    }
    const done = {
      type: "audio.done",
      utterance_index: unit.utterance,
      sentence_index: unit.unit,
      total_bytes: unit.bytes,
      error: failed,
    } as const;
    this.#tell(
      this.options.dialect === 1
        ? done
        : {
            ...done,
            duration_ms: Math.round(event.durationMs),
            ...firstAudio(event),
            rtf: Math.round(event.rtf * 1e4) / 1e4,
            seed: event.seed,
            cancelled: event.cancelled,
          },
    );
  }

  #cancelled(event: Extract<SpeechEvent, { kind: "cancelled" }>): void {
    const unit = this.#unit;
    this.#tell({
      type: "audio.cancelled",
      utterance_index: event.utterance,
      sentence_index: event.unit ?? unit?.unit ?? 0,
      reason: event.reason,
      sent_bytes: unit?.bytes ?? 0,
      sent_ms: Math.round(unit === undefined ? 0 : pcmMs(unit.bytes, unit.settings)),
      dropped_chars: event.droppedChars,
    });
  }

  /** Dialect 2 names the failure, dialect 1 has one sentence for it. */
  #failed(utterance: number, unit: number, error: unknown, partialAudio: boolean): void {
    const { code, message, entry } = speechError(error);
    this.#tell(
      this.options.dialect === 1
        ? generationError({ utterance, sentence: unit }, message, partialAudio)
        : {
            type: "utterance.error",
            utterance_index: utterance,
            code,
            message,
            retryable: entry.retryable,
          },
    );
  }

  #binary(unit: OpenUnit, payload: Uint8Array, last: boolean): void {
    const seq = this.#seq++;
    const first = unit.isFirst;
    unit.isFirst = false;
    unit.bytes += payload.length;
    const { utterance, unit: sentence, generation } = unit;
    const send = (replayed: boolean) => {
      const tag = { utterance, sentence, generation, seq, first, last, replayed };
      this.#sink?.audio(this.options.tagged ? encodeTagged(tag, payload) : payload);
    };
    if (this.options.resumable) {
      const ms = pcmMs(payload.length, unit.settings);
      this.#replay.keep({
        seq,
        isAudio: true,
        ms,
        bytes: payload.length,
        send: () => send(true),
      });
    }
    send(false);
  }

  /** Tells what belongs to the audio; it is told again to a client that may have missed it. */
  #tell(message: ServerMessage): void {
    if (this.options.resumable) {
      const send = () => this.#say(message);
      const seq = this.#seq - 1;
      this.#replay.keep({ seq, isAudio: false, ms: 0, bytes: MESSAGE_BYTES, send });
    }
    this.#say(message);
  }

  #say(message: ServerMessage): void {
    this.#sink?.message(message);
  }
}
