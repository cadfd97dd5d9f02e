/**
 * Requests as code, in three languages and for every way in which speech is delivered. Pure; each example is run by a test,
 * so what stands on the page works as it stands.
 */
import type { Operation } from "./operations.ts";

export const LANGUAGES = ["curl", "TypeScript", "Python"] as const;
export type Language = (typeof LANGUAGES)[number];

/** Whole, as a byte stream, as server-sent events, or on the WebSocket. */
export const TRANSPORTS = ["whole", "stream", "events", "socket"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** What is to be said, in the words of the API. */
export interface Wish {
  readonly transport: Transport;
  readonly input: string;
  /** Model that speaks; absent: the one that speaks by default. */
  readonly model?: string | undefined;
  readonly voice: string;
  readonly format: string;
  /** Undefined: drawn by the server. */
  readonly seed: number | undefined;
}

export interface CodeOptions {
  /** Address of the server, without a slash at its end. */
  readonly origin: string;
  /** Name of the model that speaks where the wish names none, which OpenAI's clients have to name. */
  readonly model: string;
  readonly needsKey: boolean;
}

const SPEECH = "/v1/audio/speech";
const SUBPROTOCOL = "voice-speech.v2";
const KEY_HEADER = "Authorization: Bearer $SONANT_API_KEY";
/** Sixteen bytes that a client makes up; any will do for a look at the handshake. */
const HANDSHAKE_KEY = "c29uYW50IHNvbmFudCBzbw==";

/** The body of `POST /v1/audio/speech`. */
export function bodyOf(wish: Wish): Record<string, unknown> {
  const { transport, model, input, voice, format, seed } = wish;
  return {
    ...(model === undefined ? {} : { model }),
    input,
    voice,
    response_format: format,
    ...(seed === undefined ? {} : { seed }),
    ...(transport === "stream" ? { stream: true, stream_format: "audio" } : {}),
    ...(transport === "events" ? { stream: true, stream_format: "sse" } : {}),
  };
}

/** The messages of a session that says one text, in their order. */
export function messagesFor(wish: Wish): Record<string, unknown>[] {
  const { model, input, voice, format, seed } = wish;
  return [
    {
      type: "session.config",
      ...(model === undefined ? {} : { model }),
      voice,
      response_format: format,
      ...(format === "pcm" ? { stream_audio: true } : {}),
      ...(seed === undefined ? {} : { seed }),
    },
    { type: "input.text", text: input },
    { type: "input.done" },
  ];
}

/** The program that makes the request and keeps or prints what comes. */
export function codeFor(language: Language, wish: Wish, options: CodeOptions): string {
  if (language === "curl") return curlFor(wish, options);
  return language === "TypeScript" ? typescriptFor(wish, options) : pythonFor(wish, options);
}

// ---- curl

/** A text as one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function command(lines: readonly string[]): string {
  return lines.join(" \\\n  ");
}

function curlFor(wish: Wish, { origin, needsKey }: CodeOptions): string {
  if (wish.transport === "socket") return curlHandshake(origin, needsKey);
  const isWhole = wish.transport === "whole";
  const isEvents = wish.transport === "events";
  return command([
    `curl ${isWhole ? "" : "-N "}--fail-with-body ${origin}${SPEECH}`,
    ...(needsKey ? [`-H "${KEY_HEADER}"`] : []),
    `-H "Content-Type: application/json"`,
    `-d ${quoted(JSON.stringify(bodyOf(wish), null, 2))}`,
    ...(isEvents ? [] : [`-o speech.${wish.format}`]),
  ]);
}

function curlHandshake(origin: string, needsKey: boolean): string {
  return [
    "# curl shows the handshake; a conversation needs one of the other languages.",
    command([
      `curl -i --http1.1 --max-time 2 ${origin}${SPEECH}/ws`,
      ...(needsKey ? [`-H "${KEY_HEADER}"`] : []),
      `-H "Connection: Upgrade" -H "Upgrade: websocket"`,
      `-H "Sec-WebSocket-Version: 13" -H "Sec-WebSocket-Key: ${HANDSHAKE_KEY}"`,
      `-H "Sec-WebSocket-Protocol: ${SUBPROTOCOL}"`,
    ]),
  ].join("\n");
}

/** Values of what stands in braces in a path. */
export interface PathValues {
  readonly voice: string;
  readonly model: string;
}

/** Name of the voice that the examples add, change and delete. */
const OWN_VOICE = "narrator";

/** A call of any route; undefined for those that need more than an example can bring. */
export function curlForRoute(
  operation: Operation,
  { origin, needsKey }: CodeOptions,
  values: PathValues,
): string | undefined {
  const { method, path, bodies, isSocket } = operation;
  if (isSocket) return undefined;
  const isOwn = method !== "GET" || path.endsWith("/audio");
  const address = path
    .replace("{name}", encodeURIComponent(isOwn ? OWN_VOICE : values.voice))
    .replace("{id}", values.model);
  const [body] = bodies;
  const data = body === undefined ? [] : dataOf(body.contentType, body.example);
  if (data === undefined) return undefined;
  const file = fileOf(operation);
  // curl posts what it has to send, and gets where it has nothing.
  const byItself = data.length === 0 ? "GET" : "POST";
  const verb = method === byItself ? "" : `-X ${method} `;
  return command([
    `curl --fail-with-body ${verb}${origin}${address}`,
    ...(needsKey && path.startsWith("/v1") ? [`-H "${KEY_HEADER}"`] : []),
    ...data,
    ...(file === undefined ? [] : [`-o ${file}`]),
  ]);
}

function dataOf(contentType: string, example: unknown): string[] | undefined {
  if (contentType === "multipart/form-data") {
    return [
      `-F name=${OWN_VOICE}`,
      `-F consent="I am the speaker and agree."`,
      "-F audio_sample=@speech.wav",
    ];
  }
  if (example === undefined) return undefined;
  return [`-H "Content-Type: ${contentType}"`, `-d ${quoted(JSON.stringify(example))}`];
}

/** Where an answer of sound goes. */
function fileOf({ answers, path }: Operation): string | undefined {
  const isSound = answers.some(
    ({ status, bodies }) =>
      status === "200" && bodies.some(({ contentType }) => contentType.startsWith("audio/")),
  );
  if (!isSound) return undefined;
  return path === SPEECH ? "speech.wav" : "recording.wav";
}

// ---- TypeScript

function object(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/^( +)"(\w+)":/gm, "$1$2:");
}

function typescriptFor(wish: Wish, options: CodeOptions): string {
  if (wish.transport === "socket") return typescriptSocket(wish, options);
  const { origin, model, needsKey } = options;
  const { stream: _, ...body } = { model, ...bodyOf(wish) } as Record<string, unknown>;
  const tool = FILE_TOOLS[wish.transport];
  return [
    ...(tool === undefined ? [] : [`import { ${tool} } from "node:fs/promises";`]),
    `import OpenAI from "openai";`,
    "",
    "const client = new OpenAI({",
    `  baseURL: ${JSON.stringify(`${origin}/v1`)},`,
    `  apiKey: ${needsKey ? "process.env.SONANT_API_KEY" : `"none"`},`,
    "});",
    `const answer = await client.audio.speech.create(${object(body)} as OpenAI.Audio.SpeechCreateParams);`,
    ...TYPESCRIPT_ENDS[wish.transport](wish.format),
  ].join("\n");
}

/** What keeps the sound. */
const FILE_TOOLS = { whole: "writeFile", stream: "open", events: undefined } as const;

const TYPESCRIPT_ENDS: Readonly<
  Record<Exclude<Transport, "socket">, (format: string) => string[]>
> = {
  whole: (format) => [
    `await writeFile("speech.${format}", Buffer.from(await answer.arrayBuffer()));`,
  ],
  stream: (format) => [
    `const file = await open("speech.${format}", "w");`,
    "for await (const bytes of answer.body as unknown as AsyncIterable<Uint8Array>) {",
    "  await file.write(bytes);",
    "}",
    "await file.close();",
  ],
  events: () => [
    "const decoder = new TextDecoder();",
    `let text = "";`,
    "for await (const bytes of answer.body as unknown as AsyncIterable<Uint8Array>) {",
    "  text += decoder.decode(bytes, { stream: true });",
    `  const events = text.split("\\n\\n");`,
    `  text = events.pop() ?? "";`,
    "  for (const event of events) {",
    "    const data = /^data: (.*)$/m.exec(event)?.[1];",
    "    if (data === undefined) continue;",
    "    const { type, audio, usage } = JSON.parse(data);",
    '    console.log(type, audio === undefined ? usage : Buffer.from(audio, "base64").length);',
    "  }",
    "}",
  ],
};

function typescriptSocket(wish: Wish, { origin, needsKey }: CodeOptions): string {
  const header = `{ headers: { authorization: \`Bearer \${process.env.SONANT_API_KEY}\` } }`;
  const last = needsKey ? `, ${header}` : "";
  const say = messagesFor(wish).map(
    (message) => `  say(${object(message).replace(/\n/g, "\n  ")});`,
  );
  return [
    `import { createWriteStream } from "node:fs";`,
    `import { WebSocket } from "ws";`,
    "",
    `const url = ${JSON.stringify(`${origin.replace(/^http/, "ws")}${SPEECH}/ws`)};`,
    `const socket = new WebSocket(url, [${JSON.stringify(SUBPROTOCOL)}]${last});`,
    "const say = (message: object) => socket.send(JSON.stringify(message));",
    `const file = createWriteStream("speech.${wish.format}");`,
    `socket.on("open", () => {`,
    ...say,
    "});",
    `socket.on("message", (data: Buffer, isBinary: boolean) => {`,
    "  if (isBinary) return void file.write(data);",
    "  const message = JSON.parse(data.toString());",
    '  console.log(message.type, message.message ?? message.sentence_text ?? "");',
    `  if (message.type === "session.done") say({ type: "session.close" });`,
    "});",
    `socket.on("close", () => file.end());`,
  ].join("\n");
}

// ---- Python

/** JSON's strings and numbers are Python's too; its words are not. */
function python(value: unknown): string {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([key, one]) => `${JSON.stringify(key)}: ${python(one)}`,
  );
  return `{${members.join(", ")}}`;
}

function pythonFor(wish: Wish, options: CodeOptions): string {
  if (wish.transport === "socket") return pythonSocket(wish, options);
  if (wish.transport === "events") return pythonEvents(wish, options);
  const { origin, model, needsKey } = options;
  const { input, voice, response_format, seed } = bodyOf(wish);
  const known = { model: wish.model ?? model, voice, input, response_format };
  const isStream = wish.transport === "stream";
  const extra = {
    ...(seed === undefined ? {} : { seed }),
    ...(isStream ? { stream_format: "audio" } : {}),
  };
  const call = isStream ? "with_streaming_response.create" : "create";
  return [
    ...(needsKey ? ["import os", ""] : []),
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${python(`${origin}/v1`)}, api_key=${pythonKey(needsKey)})`,
    isStream ? `with client.audio.speech.${call}(` : `answer = client.audio.speech.${call}(`,
    ...Object.entries(known).map(([name, value]) => `    ${name}=${python(value)},`),
    ...(Object.keys(extra).length > 0 ? [`    extra_body=${python(extra)},`] : []),
    ...(isStream
      ? [
          `) as answer, open("speech.${wish.format}", "wb") as file:`,
          "    for chunk in answer.iter_bytes():",
          "        file.write(chunk)",
        ]
      : [")", `answer.write_to_file("speech.${wish.format}")`]),
  ].join("\n");
}

function pythonKey(needsKey: boolean): string {
  return needsKey ? `os.environ["SONANT_API_KEY"]` : `"none"`;
}

function pythonEvents(wish: Wish, { origin, needsKey }: CodeOptions): string {
  return [
    "import base64",
    "import json",
    ...(needsKey ? ["import os"] : []),
    "import urllib.request",
    "",
    `body = ${python(bodyOf(wish))}`,
    `headers = {"Content-Type": "application/json"}`,
    ...(needsKey ? [`headers["Authorization"] = "Bearer " + os.environ["SONANT_API_KEY"]`] : []),
    `request = urllib.request.Request(${python(origin + SPEECH)}, json.dumps(body).encode(), headers)`,
    "with urllib.request.urlopen(request) as answer:",
    "    for line in answer:",
    `        if not line.startswith(b"data: "):`,
    "            continue",
    "        event = json.loads(line[6:])",
    `        audio = base64.b64decode(event.get("audio", ""))`,
    `        print(event["type"], len(audio), event.get("usage", ""))`,
  ].join("\n");
}

function pythonSocket(wish: Wish, { origin, needsKey }: CodeOptions): string {
  const url = `${origin.replace(/^http/, "ws")}${SPEECH}/ws`;
  return [
    "import json",
    ...(needsKey ? ["import os"] : []),
    "",
    "from websockets.sync.client import connect",
    "",
    ...(needsKey ? [`headers = {"Authorization": "Bearer " + os.environ["SONANT_API_KEY"]}`] : []),
    `url = ${python(url)}`,
    `with connect(url, subprotocols=[${python(SUBPROTOCOL)}]${needsKey ? ", additional_headers=headers" : ""}) as socket:`,
    ...messagesFor(wish).map((message) => `    socket.send(json.dumps(${python(message)}))`),
    `    with open("speech.${wish.format}", "wb") as file:`,
    "        for message in socket:",
    "            if isinstance(message, bytes):",
    "                file.write(message)",
    "                continue",
    "            event = json.loads(message)",
    `            print(event["type"], event.get("message", ""))`,
    `            if event["type"] == "session.done":`,
    "                break",
  ].join("\n");
}
