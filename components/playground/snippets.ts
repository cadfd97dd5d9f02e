/** A take as code: the same request in curl, TypeScript and Python. Pure. */
import type { TakeRequest } from "../store/takes.ts";

export const LANGUAGES = ["curl", "TypeScript", "Python"] as const;
export type Language = (typeof LANGUAGES)[number];

/** The body of `POST /v1/audio/speech` for a request, without a format. */
export function bodyOf(request: Omit<TakeRequest, "voiceName">): Record<string, unknown> {
  const { text, model, voice, seed, speed, temperature, audioTemperature, normalise } = request;
  return {
    ...(model === undefined ? {} : { model }),
    input: text,
    voice,
    seed,
    ...(speed === 1 ? {} : { speed }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(audioTemperature === undefined ? {} : { audio_temperature: audioTemperature }),
    ...(normalise ? {} : { text_normalization: "off" }),
  };
}

interface SnippetOptions {
  /** Address of the server, without a slash at its end. */
  readonly origin: string;
  /** Name of the model that speaks where the request names none, which OpenAI's clients have to name. */
  readonly model: string;
  /** Whether the server asks for a key. */
  readonly needsKey: boolean;
}

/** Code that makes the same take and saves it as `take.wav`. */
export function snippet(language: Language, request: TakeRequest, options: SnippetOptions): string {
  return WRITERS[language](request, options);
}

const WRITERS: Readonly<
  Record<Language, (request: TakeRequest, options: SnippetOptions) => string>
> = { curl, TypeScript: typescript, Python: python };

function curl(request: TakeRequest, { origin, needsKey }: SnippetOptions): string {
  const json = JSON.stringify({ ...bodyOf(request), response_format: "wav" }, null, 2);
  return [
    `curl ${origin}/v1/audio/speech \\`,
    ...(needsKey ? [`  -H "Authorization: Bearer $SONANT_API_KEY" \\`] : []),
    `  -H "Content-Type: application/json" \\`,
    `  -d '${json.replaceAll("'", String.raw`'\''`)}' \\`,
    "  -o take.wav",
  ].join("\n");
}

/** The model that a request names, if it names one. */
function named({ model }: TakeRequest): { readonly model?: string } {
  return model === undefined ? {} : { model };
}

/** Options of our own, beside those that OpenAI's clients have names for. */
function splitBody(request: TakeRequest) {
  const { model: _, input, voice, speed, ...own } = bodyOf(request);
  return { known: { input, voice, ...(speed === undefined ? {} : { speed }) }, own };
}

function typescript(request: TakeRequest, options: SnippetOptions): string {
  const { origin, needsKey, model } = { ...options, ...named(request) };
  const { known, own } = splitBody(request);
  const fields = { model, ...known, response_format: "wav", ...own };
  const body = JSON.stringify(fields, null, 2).replace(/^ {2}"(\w+)":/gm, "  $1:");
  return [
    `import { writeFile } from "node:fs/promises";`,
    `import OpenAI from "openai";`,
    "",
    `const client = new OpenAI({`,
    `  baseURL: ${JSON.stringify(`${origin}/v1`)},`,
    `  apiKey: ${needsKey ? "process.env.SONANT_API_KEY" : `"none"`},`,
    `});`,
    `const answer = await client.audio.speech.create(${body} as OpenAI.Audio.SpeechCreateParams);`,
    `await writeFile("take.wav", Buffer.from(await answer.arrayBuffer()));`,
  ].join("\n");
}

function python(request: TakeRequest, options: SnippetOptions): string {
  const { origin, needsKey, model } = { ...options, ...named(request) };
  const { known, own } = splitBody(request);
  const given = { model, ...known, response_format: "wav" };
  const lines = Object.entries(given).map(([name, value]) => `    ${name}=${pythonValue(value)},`);
  const extra = Object.entries(own).map(([name, value]) => `"${name}": ${pythonValue(value)}`);
  return [
    ...(needsKey ? ["import os", ""] : []),
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${pythonValue(`${origin}/v1`)}, api_key=${needsKey ? `os.environ["SONANT_API_KEY"]` : `"none"`})`,
    "answer = client.audio.speech.create(",
    ...lines,
    ...(extra.length > 0 ? [`    extra_body={${extra.join(", ")}},`] : []),
    ")",
    `answer.write_to_file("take.wav")`,
  ].join("\n");
}

/** JSON's strings and numbers are Python's too; its words are not. */
function pythonValue(value: unknown): string {
  if (value === true) return "True";
  if (value === false) return "False";
  return value === null ? "None" : JSON.stringify(value);
}
