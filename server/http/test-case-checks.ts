/** What the shared cases expect of an answer, by the rules that the file states. */
import { expect } from "vitest";
import { decodeAudio } from "../audio/decode.ts";

/** An answer as far as a client got it. */
export interface CaseAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
  /** The body broke off. */
  readonly isBroken: boolean;
}

interface AudioExpectation {
  readonly format: string;
  readonly sample_rate: number;
  readonly channels?: number;
  readonly min_seconds?: number;
  readonly max_seconds?: number;
  readonly nonsilent?: boolean;
  readonly wav_streaming_header?: boolean;
}

export interface Expectation {
  readonly status?: number | readonly number[];
  readonly content_type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly header_present?: readonly string[];
  readonly header_absent?: readonly string[];
  readonly error?: { readonly contains?: readonly string[]; readonly excludes?: readonly string[] };
  readonly json?: unknown;
  readonly json_contains?: Readonly<Record<string, readonly unknown[]>>;
  readonly json_absent?: readonly string[];
  readonly json_types?: Readonly<Record<string, string>>;
  readonly json_match?: Readonly<Record<string, string>>;
  readonly json_sorted?: readonly string[];
  readonly json_min_length?: Readonly<Record<string, number>>;
  readonly json_each?: Readonly<Record<string, object>>;
  readonly ndjson?: { readonly lines: number; readonly each: object };
  readonly text_contains?: readonly string[];
  readonly audio?: AudioExpectation;
  readonly audio_each?: AudioExpectation;
  readonly body_prefix_hex?: string;
  readonly first_chunk_bytes?: { readonly max: number };
  readonly stream?: boolean;
  readonly transport_error?: boolean;
  readonly sse?: {
    readonly events: readonly string[];
    readonly delta_required?: readonly string[];
    readonly done_required?: readonly string[];
    readonly usage_total_is_sum?: boolean;
    readonly usage_positive?: readonly string[];
    readonly error_json?: object;
  };
  readonly compare?: {
    readonly to?: string;
    readonly bytes_equal?: boolean;
    readonly samples_equal?: boolean;
    readonly duration_ratio?: number;
    readonly tolerance?: number;
  };
}

const MAGIC: Readonly<Record<string, RegExp>> = {
  wav: /^52494646.{8}57415645/,
  flac: /^664c6143/,
  opus: /^4f676753/,
  mp3: /^(fff[23ab]|494433)/,
  aac: /^fff[19]/,
};

const textOf = (body: Uint8Array) => new TextDecoder().decode(body);
const hex = (body: Uint8Array) => Buffer.from(body.subarray(0, 64)).toString("hex");

interface Sound {
  readonly seconds: number;
  readonly peak: number;
  readonly sampleRate: number;
  readonly channels: number;
}

async function soundOf(body: Uint8Array, wanted: AudioExpectation): Promise<Sound> {
  if (wanted.format === "pcm") {
    const { sample_rate: sampleRate, channels = 1 } = wanted;
    const samples = new Int16Array(body.slice().buffer);
    const peak = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0) / 32768;
    return { seconds: samples.length / channels / sampleRate, peak, sampleRate, channels };
  }
  expect(hex(body)).toMatch(MAGIC[wanted.format] ?? /^$/);
  const { pcm, channels, sampleRate } = await decodeAudio(body, { maxSeconds: 3600 });
  const peak = pcm.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
  return { seconds: pcm.length / channels / sampleRate, peak, sampleRate, channels };
}

async function checkAudio(body: Uint8Array, wanted: AudioExpectation): Promise<void> {
  const sound = await soundOf(body, wanted);
  expect(sound.sampleRate).toBe(wanted.sample_rate);
  if (wanted.channels !== undefined) expect(sound.channels).toBe(wanted.channels);
  const slack = wanted.format === "mp3" || wanted.format === "aac" ? 0.1 : 0;
  expect(sound.seconds).toBeGreaterThanOrEqual((wanted.min_seconds ?? 0) - slack);
  expect(sound.seconds).toBeLessThanOrEqual((wanted.max_seconds ?? Infinity) + slack);
  if (wanted.nonsilent) expect(sound.peak).toBeGreaterThan(0.01);
  if (wanted.wav_streaming_header !== undefined) {
    expect(hex(body).slice(8, 16) === "ffffffff").toBe(wanted.wav_streaming_header);
  }
}

/** The audio of an event stream, checked event by event on the way. */
function audioOfEvents(body: Uint8Array, wanted: NonNullable<Expectation["sse"]>): Uint8Array {
  const text = textOf(body);
  expect(text).not.toContain("[DONE]");
  const blocks = text.split("\n\n").filter((block) => block.startsWith("event:"));
  const events = blocks.map((block) => {
    const [name = "", data = ""] = block.split("\ndata: ");
    return { name: name.replace("event: ", ""), data: JSON.parse(data) };
  });
  const pattern = wanted.events.map(
    (name) => `(${name.replace("+", " )+").replaceAll(".", "\\.")}`,
  );
  const regular = pattern.map((part) => (part.includes(")+") ? part : `${part} )`)).join("");
  expect(`${events.map(({ name }) => name).join(" ")} `).toMatch(new RegExp(`^${regular}$`));
  const deltas = events.filter(({ name }) => name === "speech.audio.delta");
  for (const { data } of deltas) {
    for (const key of wanted.delta_required ?? []) expect(data).toHaveProperty(key);
  }
  const last = events.at(-1)?.data;
  for (const key of wanted.done_required ?? []) expect(last).toHaveProperty(key);
  if (wanted.usage_total_is_sum) {
    expect(last.usage.total_tokens).toBe(last.usage.input_tokens + last.usage.output_tokens);
  }
  for (const key of wanted.usage_positive ?? []) expect(last.usage[key]).toBeGreaterThan(0);
  if (wanted.error_json !== undefined) expect(last).toMatchObject(wanted.error_json);
  return Buffer.concat(deltas.map(({ data }) => Buffer.from(data.audio, "base64")));
}

function at(root: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], root);
}

function checkJson(body: Uint8Array, wanted: Expectation): void {
  const document: unknown = JSON.parse(textOf(body));
  if (wanted.json !== undefined) expect(document).toMatchObject(wanted.json as object);
  for (const [path, items] of Object.entries(wanted.json_contains ?? {})) {
    for (const item of items) {
      const match = typeof item === "object" ? expect.objectContaining(item) : item;
      expect(at(document, path)).toEqual(expect.arrayContaining([match]));
    }
  }
  for (const path of wanted.json_absent ?? []) expect(at(document, path)).toBeUndefined();
  for (const [path, type] of Object.entries(wanted.json_types ?? {})) {
    const value = at(document, path);
    expect(typeof value).toBe("number");
    if (type === "integer") expect(Number.isInteger(value)).toBe(true);
  }
  for (const [path, pattern] of Object.entries(wanted.json_match ?? {})) {
    expect(at(document, path)).toMatch(new RegExp(pattern));
  }
  for (const path of wanted.json_sorted ?? []) {
    const list = at(document, path) as string[];
    expect(list).toEqual([...list].sort());
  }
  for (const [path, length] of Object.entries(wanted.json_min_length ?? {})) {
    expect((at(document, path) as unknown[]).length).toBeGreaterThanOrEqual(length);
  }
  for (const [path, match] of Object.entries(wanted.json_each ?? {})) {
    for (const item of at(document, path) as object[]) expect(item).toMatchObject(match);
  }
}

function checkHead({ status, headers, body }: CaseAnswer, wanted: Expectation): void {
  const text = () => textOf(body.subarray(0, 400));
  expect([wanted.status ?? 200].flat(), text()).toContain(status);
  if (wanted.content_type !== undefined) {
    expect(headers.get("content-type")?.split(";")[0]).toBe(wanted.content_type);
  }
  for (const [name, value] of Object.entries(wanted.headers ?? {})) {
    expect(headers.get(name), name).toBe(value);
  }
  for (const name of wanted.header_present ?? []) expect(headers.has(name), name).toBe(true);
  for (const name of wanted.header_absent ?? []) expect(headers.has(name), name).toBe(false);
  if (wanted.stream) expect(headers.has("content-length")).toBe(false);
}

function checkText(body: Uint8Array, { error, text_contains }: Expectation): void {
  if (error === undefined && text_contains === undefined) return;
  const text = textOf(body);
  for (const part of text_contains ?? []) expect(text).toContain(part);
  for (const part of error?.contains ?? [])
    expect(text.toLowerCase()).toContain(part.toLowerCase());
  for (const part of error?.excludes ?? []) {
    expect(text.toLowerCase()).not.toContain(part.toLowerCase());
  }
}

const JSON_KEYS = [
  "json",
  "json_contains",
  "json_absent",
  "json_types",
  "json_match",
  "json_sorted",
  "json_min_length",
  "json_each",
] as const;

/** Checks everything but comparisons with other answers. */
export async function checkAnswer(answer: CaseAnswer, wanted: Expectation): Promise<void> {
  checkHead(answer, wanted);
  expect(answer.isBroken).toBe(wanted.transport_error ?? false);
  checkText(answer.body, wanted);
  if (JSON_KEYS.some((key) => wanted[key] !== undefined)) checkJson(answer.body, wanted);
  if (wanted.ndjson !== undefined) {
    const lines = textOf(answer.body).trim().split("\n");
    expect(lines).toHaveLength(wanted.ndjson.lines);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject(wanted.ndjson.each);
  }
  if (wanted.body_prefix_hex !== undefined) {
    expect(hex(answer.body)).toMatch(new RegExp(`^${wanted.body_prefix_hex}`));
  }
  const sound = wanted.sse === undefined ? answer.body : audioOfEvents(answer.body, wanted.sse);
  if (wanted.audio !== undefined) await checkAudio(sound, wanted.audio);
  if (wanted.audio_each !== undefined) {
    for (const { audio_data } of JSON.parse(textOf(answer.body)).results) {
      await checkAudio(Buffer.from(audio_data, "base64"), wanted.audio_each);
    }
  }
}

const samplesOf = (body: Uint8Array) =>
  hex(body).startsWith("52494646") ? body.subarray(44) : body;

/** Compares with the answer of another case. */
export async function compareAnswers(
  answer: CaseAnswer,
  other: CaseAnswer,
  wanted: Expectation,
): Promise<void> {
  const { bytes_equal, samples_equal, duration_ratio, tolerance = 0 } = wanted.compare ?? {};
  if (bytes_equal) expect(Buffer.compare(answer.body, other.body)).toBe(0);
  if (samples_equal) expect(Buffer.compare(samplesOf(answer.body), samplesOf(other.body))).toBe(0);
  if (duration_ratio === undefined || wanted.audio === undefined) return;
  const mine = await soundOf(answer.body, wanted.audio);
  const theirs = await soundOf(other.body, { ...wanted.audio, format: "wav" });
  const ratio = mine.seconds / theirs.seconds;
  expect(Math.abs(ratio / duration_ratio - 1)).toBeLessThanOrEqual(
    tolerance + 0.1 / theirs.seconds,
  );
}
