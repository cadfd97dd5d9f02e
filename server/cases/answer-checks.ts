/** What cases of speech-api-cases.json expect of an answer, by the rules that the file states. Each finding is thrown. */
import { decodeAudio } from "../audio/decode.ts";
import { atLeast, atMost, contains, holds, oneOf, same, shown } from "./check.ts";

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
  const isFormat = MAGIC[wanted.format]?.test(hex(body));
  holds(isFormat, () => `${wanted.format} does not begin with ${hex(body).slice(0, 24)}`);
  const { pcm, channels, sampleRate } = await decodeAudio(body, { maxSeconds: 3600 });
  const peak = pcm.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
  return { seconds: pcm.length / channels / sampleRate, peak, sampleRate, channels };
}

async function checkAudio(body: Uint8Array, wanted: AudioExpectation): Promise<void> {
  const sound = await soundOf(body, wanted);
  same("the sample rate", sound.sampleRate, wanted.sample_rate);
  if (wanted.channels !== undefined) same("the channels", sound.channels, wanted.channels);
  const slack = wanted.format === "mp3" || wanted.format === "aac" ? 0.1 : 0;
  atLeast("the length in seconds", sound.seconds, (wanted.min_seconds ?? 0) - slack);
  atMost("the length in seconds", sound.seconds, (wanted.max_seconds ?? Infinity) + slack);
  if (wanted.nonsilent) atLeast("the peak", sound.peak, 0.01);
  if (wanted.wav_streaming_header !== undefined) {
    const isOpen = hex(body).slice(8, 16) === "ffffffff";
    same("whether the header leaves the length open", isOpen, wanted.wav_streaming_header);
  }
}

/** The audio of an event stream, checked event by event on the way. */
function audioOfEvents(body: Uint8Array, wanted: NonNullable<Expectation["sse"]>): Uint8Array {
  const text = textOf(body);
  holds(!text.includes("[DONE]"), "the event stream ends with [DONE]");
  const blocks = text.split("\n\n").filter((block) => block.startsWith("event:"));
  const events = blocks.map((block) => {
    const [name = "", data = ""] = block.split("\ndata: ");
    return { name: name.replace("event: ", ""), data: JSON.parse(data) };
  });
  checkOrder(
    events.map(({ name }) => name),
    wanted.events,
  );
  const deltas = events.filter(({ name }) => name === "speech.audio.delta");
  for (const { data } of deltas) {
    for (const key of wanted.delta_required ?? []) holds(key in data, `a delta has no ${key}`);
  }
  const last = events.at(-1)?.data;
  for (const key of wanted.done_required ?? []) holds(key in last, `the last event has no ${key}`);
  if (wanted.usage_total_is_sum) {
    same(
      "total_tokens",
      last.usage.total_tokens,
      last.usage.input_tokens + last.usage.output_tokens,
    );
  }
  for (const key of wanted.usage_positive ?? [])
    holds(last.usage[key] > 0, `${key} is not above 0`);
  if (wanted.error_json !== undefined) contains("the last event", last, wanted.error_json);
  return Buffer.concat(deltas.map(({ data }) => Buffer.from(data.audio, "base64")));
}

/** Events in order; a name with a plus sign stands for one or more of them. */
function checkOrder(names: readonly string[], wanted: readonly string[]): void {
  const parts = wanted.map((name) => {
    const plain = name.replace("+", "").replaceAll(".", "\\.");
    return name.endsWith("+") ? `(${plain} )+` : `${plain} `;
  });
  const isRight = new RegExp(`^${parts.join("")}$`).test(`${names.join(" ")} `);
  holds(isRight, () => `the events are ${shown(names)}, wanted ${wanted.join(" ")}`);
}

function at(root: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], root);
}

function isLike(value: unknown, wanted: unknown): boolean {
  try {
    contains("", value, wanted);
    return true;
  } catch {
    return false;
  }
}

function checkJson(body: Uint8Array, wanted: Expectation): void {
  const document: unknown = JSON.parse(textOf(body));
  if (wanted.json !== undefined) contains("the document", document, wanted.json);
  for (const [path, items] of Object.entries(wanted.json_contains ?? {})) {
    for (const item of items) {
      const list = at(document, path) as readonly unknown[];
      holds(
        list.some((one) => isLike(one, item)),
        () => `${path} lacks ${shown(item)}`,
      );
    }
  }
  for (const path of wanted.json_absent ?? []) {
    holds(at(document, path) === undefined, `${path} should be absent`);
  }
  for (const [path, type] of Object.entries(wanted.json_types ?? {})) {
    const value = at(document, path);
    same(`the type of ${path}`, typeof value, "number");
    if (type === "integer") holds(Number.isInteger(value), `${path} is no integer`);
  }
  for (const [path, pattern] of Object.entries(wanted.json_match ?? {})) {
    const value = String(at(document, path));
    holds(new RegExp(pattern).test(value), () => `${path} is ${shown(value)}, wanted ${pattern}`);
  }
  for (const path of wanted.json_sorted ?? []) {
    const list = at(document, path) as string[];
    same(path, list, [...list].sort());
  }
  for (const [path, length] of Object.entries(wanted.json_min_length ?? {})) {
    atLeast(`the length of ${path}`, (at(document, path) as unknown[]).length, length);
  }
  for (const [path, match] of Object.entries(wanted.json_each ?? {})) {
    for (const item of at(document, path) as object[]) contains(`a member of ${path}`, item, match);
  }
}

function checkHead({ status, headers, body }: CaseAnswer, wanted: Expectation): void {
  const text = status < 400 ? "" : `: ${textOf(body.subarray(0, 400))}`;
  oneOf(`the status${text}`, status, [wanted.status ?? 200].flat());
  if (wanted.content_type !== undefined) {
    same("the content type", headers.get("content-type")?.split(";")[0], wanted.content_type);
  }
  for (const [name, value] of Object.entries(wanted.headers ?? {})) {
    same(`header ${name}`, headers.get(name), value);
  }
  for (const name of wanted.header_present ?? []) holds(headers.has(name), `no header ${name}`);
  for (const name of wanted.header_absent ?? []) holds(!headers.has(name), `a header ${name}`);
  if (wanted.stream) holds(!headers.has("content-length"), "a stream with a content-length");
}

function checkText(body: Uint8Array, { error, text_contains }: Expectation): void {
  if (error === undefined && text_contains === undefined) return;
  const text = textOf(body);
  const lower = text.toLowerCase();
  for (const part of text_contains ?? [])
    holds(text.includes(part), () => `no "${part}" in ${shown(text)}`);
  for (const part of error?.contains ?? []) {
    holds(lower.includes(part.toLowerCase()), () => `no "${part}" in ${shown(text)}`);
  }
  for (const part of error?.excludes ?? []) {
    holds(!lower.includes(part.toLowerCase()), () => `"${part}" is in ${shown(text)}`);
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
  same("whether the answer broke off", answer.isBroken, wanted.transport_error ?? false);
  checkText(answer.body, wanted);
  if (JSON_KEYS.some((key) => wanted[key] !== undefined)) checkJson(answer.body, wanted);
  if (wanted.ndjson !== undefined) {
    const lines = textOf(answer.body).trim().split("\n");
    same("the number of lines", lines.length, wanted.ndjson.lines);
    for (const line of lines) contains("a line", JSON.parse(line), wanted.ndjson.each);
  }
  if (wanted.body_prefix_hex !== undefined) {
    holds(
      hex(answer.body).startsWith(wanted.body_prefix_hex),
      `it begins with ${hex(answer.body)}`,
    );
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
  const equal = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;
  if (bytes_equal)
    holds(equal(answer.body, other.body), "the bytes differ from the other answer's");
  if (samples_equal) {
    const isSame = equal(samplesOf(answer.body), samplesOf(other.body));
    holds(isSame, "the samples differ from the other answer's");
  }
  if (duration_ratio === undefined || wanted.audio === undefined) return;
  const mine = await soundOf(answer.body, wanted.audio);
  const theirs = await soundOf(other.body, { ...wanted.audio, format: "wav" });
  const ratio = mine.seconds / theirs.seconds;
  const off = Math.abs(ratio / duration_ratio - 1);
  atMost("how far the length is off", off, tolerance + 0.1 / theirs.seconds);
}
