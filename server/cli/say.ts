/**
 * `npm run say -- "Text" [options]`: speaks on the command line, through the same engine as the server. Audio is written
 * as it is made; an interrupted command leaves a valid file with what was spoken.
 */
import { createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import type { Writable } from "node:stream";
import { parseArgs } from "node:util";
import { toPcm16 } from "../audio/pcm.ts";
import { wavHeader } from "../audio/wav.ts";
import { type SpokenChunk, type Synthesis, synthesise } from "../speech/synthesise.ts";
import { usage } from "./native-tool.ts";
import { cloneVoice, ENGINE_OPTIONS, integer, loadSpeaker, number } from "./speaker.ts";

const USAGE = `
npm run say -- "Hello there" [--voice NAME | --clone RECORDING] [--seed N] [-o out.wav]
npm run say -- --stdin -o -          speak text while it arrives on stdin
npm run say -- --list                the voices

  -o, --output FILE   .wav, or .pcm for raw 16-bit samples; - for stdout. Without it: stdout if that is
                      a pipe or a file, else speech.wav
  --voice NAME        a preset of the model
  --clone FILE        speak in the voice of a recording (wav, flac, mp3, ogg; 1 to 30 s, best 3 to 6 s)
  --seed N            the same seed, text and voice give the same audio
  --language CODE     how numbers and abbreviations are read; detected without it
  --temperature N     of the audio codes; also --top-k, --top-p, --repetition-penalty
  --json              timings as one line of JSON (on stderr when the audio goes to stdout)
  --model FOLDER --device auto|cpu|cuda --precision int8|fp32|bf16 --threads N`;

function readOptions() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ...ENGINE_OPTIONS,
      voice: { type: "string" },
      clone: { type: "string" },
      seed: { type: "string" },
      output: { type: "string", short: "o" },
      stdin: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      language: { type: "string" },
      temperature: { type: "string" },
      "top-k": { type: "string" },
      "top-p": { type: "string" },
      "repetition-penalty": { type: "string" },
    },
  });
  const text = positionals.join(" ");
  if (values.help) usage(USAGE);
  if (!values.list && values.stdin === (text !== "")) usage(USAGE);
  if (values.voice !== undefined && values.clone !== undefined) {
    usage("--voice and --clone exclude each other");
  }
  const sampling = {
    ...(values.temperature === undefined
      ? {}
      : { audioTemperature: number("temperature", values.temperature, 0.01, 5) }),
    ...(values["top-k"] === undefined
      ? {}
      : { audioTopK: integer("top-k", values["top-k"], 0, 1024) }),
    ...(values["top-p"] === undefined
      ? {}
      : { audioTopP: number("top-p", values["top-p"], 0.01, 1) }),
    ...(values["repetition-penalty"] === undefined
      ? {}
      : {
          audioRepetitionPenalty: number(
            "repetition-penalty",
            values["repetition-penalty"],
            0.5,
            3,
          ),
        }),
  };
  const seed =
    values.seed === undefined
      ? undefined
      : integer("seed", values.seed, 0, Number.MAX_SAFE_INTEGER);
  return { ...values, text, sampling, seed };
}

/** Where the audio goes. Writing waits for a slow reader, and so pauses the engine. */
class AudioFile {
  readonly name: string;
  readonly isStdout: boolean;
  readonly #stream: Writable;
  readonly #isRaw: boolean;
  #format: { sampleRate: number; channels: number } | undefined;
  #samples = 0;

  constructor(output: string | undefined) {
    const name = output ?? (process.stdout.isTTY ? "speech.wav" : "-");
    this.isStdout = name === "-";
    this.name = this.isStdout ? "stdout" : name;
    this.#isRaw = /\.(pcm|raw)$/i.test(name);
    if (!this.isStdout && !this.#isRaw && !/\.wav$/i.test(name)) {
      usage(`--output must end in .wav or .pcm, not '${name}'`);
    }
    this.#stream = this.isStdout ? process.stdout : createWriteStream(resolve(name));
  }

  /** Seconds of audio so far. */
  get seconds(): number {
    return this.#format ? this.#samples / this.#format.sampleRate : 0;
  }

  async write({ pcm, sampleRate, channels }: SpokenChunk): Promise<void> {
    if (this.#format === undefined) {
      this.#format = { sampleRate, channels };
      if (!this.#isRaw) await this.#put(wavHeader(sampleRate, channels));
    }
    this.#samples += pcm.length / channels;
    await this.#put(toPcm16(pcm));
  }

  /** Flushes, and puts the true lengths into a file's header. */
  async finish(): Promise<void> {
    if (this.isStdout) return;
    await new Promise<void>((done, failed) => this.#stream.on("error", failed).end(done));
    if (this.#isRaw || this.#format === undefined) return;
    const file = await open(resolve(this.name), "r+");
    await file.write(
      wavHeader(this.#format.sampleRate, this.#format.channels, this.#samples),
      0,
      44,
      0,
    );
    await file.close();
  }

  #put(bytes: Uint8Array): Promise<void> {
    return new Promise((done, failed) =>
      this.#stream.write(bytes, (error) => (error ? failed(error) : done())),
    );
  }
}

/** Text as it arrives, character by character if it is typed so. */
async function* typed(): AsyncGenerator<string> {
  process.stdin.setEncoding("utf8");
  yield* process.stdin as AsyncIterable<string>;
}

async function speak(options: ReturnType<typeof readOptions>): Promise<number> {
  const { engine, model } = await loadSpeaker(options);
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort()).once("SIGTERM", () => interrupt.abort());
  try {
    if (options.list) {
      for (const { name, description } of model.presets.values()) {
        const mark = name === model.defaultVoice ? " (default)" : "";
        process.stdout.write(`${name.padEnd(12)} ${description}${mark}\n`);
      }
      return 0;
    }
    const voice =
      options.clone === undefined ? options.voice : await cloneVoice(engine, model, options.clone);
    model.planSegment({ text: "Hello.", ...(voice === undefined ? {} : { voice }) }); // an unknown voice fails before a file is made
    const file = new AudioFile(options.output);
    const from = performance.now();
    let firstAudioMs: number | undefined;
    const speech = synthesise(engine, model, {
      text: options.stdin ? typed() : options.text,
      voice,
      seed: options.seed,
      sampling: options.sampling,
      language: options.language,
      signal: interrupt.signal,
    });
    for await (const chunk of speech) {
      firstAudioMs ??= performance.now() - from;
      await file.write(chunk);
    }
    await file.finish();
    report(options, file, speech, firstAudioMs, performance.now() - from);
    if (interrupt.signal.aborted) return 130;
    if (firstAudioMs !== undefined) return 0;
    process.stderr.write("There was nothing to speak in the text.\n");
    return 1;
  } finally {
    await engine.close();
    process.stdin.destroy();
  }
}

function report(
  options: ReturnType<typeof readOptions>,
  file: AudioFile,
  speech: Synthesis,
  firstAudioMs: number | undefined,
  totalMs: number,
): void {
  const out = file.isStdout ? process.stderr : process.stdout;
  const computeMs = speech.segments.reduce(
    (sum, { stats }) => sum + stats.prefillMs + stats.frameMs + stats.codecMs,
    0,
  );
  const rtf = file.seconds > 0 ? computeMs / 1000 / file.seconds : 0;
  const seconds = file.seconds;
  if (options.json) {
    const segments = speech.segments.map(({ segment, reason, stats }) => ({
      text: segment.text,
      spoken: segment.spoken,
      reason,
      ...stats,
    }));
    const line = {
      file: file.name,
      seconds,
      seed: speech.seed,
      ttfpMs: firstAudioMs,
      totalMs,
      rtf,
      truncated: speech.isTruncated,
      segments,
    };
    out.write(`${JSON.stringify(line)}\n`);
  } else if (firstAudioMs !== undefined) {
    const cut = speech.isTruncated ? "; some of it was cut at the length limit" : "";
    out.write(
      `${file.name}: ${seconds.toFixed(2)} s, first audio after ${firstAudioMs.toFixed(0)} ms, real-time factor ${rtf.toFixed(3)}, seed ${speech.seed}${cut}\n`,
    );
  }
}

try {
  process.exitCode = await speak(readOptions());
} catch (error) {
  const { code } = error as { code?: string };
  if (code === "EPIPE")
    process.exitCode = 0; // the reader of our output has heard enough
  else usageOrFailure(error as Error, code);
}

function usageOrFailure(error: Error, code: string | undefined): void {
  if (code?.startsWith("ERR_PARSE_ARGS")) usage(`${error.message}\n${USAGE}`);
  process.stderr.write(`${code === undefined ? error.stack : error.message}\n`);
  process.exitCode = 1;
}
