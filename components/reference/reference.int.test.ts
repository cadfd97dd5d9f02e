/**
 * The API page against the real server: all that it publishes is shown, and the examples do what they say. Every command
 * and program is run as it stands on the page, and all of them bring the same sound.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AsyncApiDocument } from "../../server/protocol/asyncapi.ts";
import {
  type CodeOptions,
  codeFor,
  curlForRoute,
  type Language,
  TRANSPORTS,
  type Transport,
  type Wish,
} from "./code.ts";
import { messagesOf } from "./documents.ts";
import { type OpenApi, type Operation, operationsOf } from "./operations.ts";
import { fieldRows, type JsonSchema } from "./schema.ts";

const ROOT = join(import.meta.dirname, "../..");
const KEY = "an-example-key";
const INPUT = `It's "quoted", costs $5,\nand ends – here.`;
const run = promisify(execFile);

let child: ChildProcess;
let options: CodeOptions;
let openapi: OpenApi;
let asyncapi: AsyncApiDocument;
/** Inside the checkout, so that programs find the packages that they import. */
let folder: string;
let voicesFolder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(ROOT, "node_modules/.examples-"));
  voicesFolder = await mkdtemp(join(tmpdir(), "sonant-examples-"));
  child = spawn(process.execPath, ["--import", "tsx", "server/main.ts", "--port", "0", "--no-ui"], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, SONANT_API_KEY: KEY, SONANT_VOICES_DIR: voicesFolder },
  });
  const origin = await addressOf(child);
  openapi = (await (await fetch(`${origin}/openapi.json`)).json()) as OpenApi;
  asyncapi = (await (await fetch(`${origin}/asyncapi.json`)).json()) as AsyncApiDocument;
  const { model } = (await (await fetch(`${origin}/version`)).json()) as { model: string };
  options = { origin, model, needsKey: openapi.security.length > 0 };
});

afterAll(async () => {
  if (child?.exitCode === null) {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
  for (const path of [folder, voicesFolder]) await rm(path, { recursive: true, force: true });
});

async function addressOf({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error("The server's output is not piped");
  for await (const line of createInterface({ input: stdout })) {
    const address = /http:\/\/[^\s"]+/.exec(line)?.[0];
    if (address !== undefined) {
      setImmediate(() => stdout.resume());
      return address;
    }
  }
  throw new Error("The server ended before it printed its address");
}

const environment = { ...process.env, SONANT_API_KEY: KEY };

/** Runs a command as it was copied from the page. */
async function shell(code: string): Promise<string> {
  const { stdout } = await run("sh", ["-c", code], { cwd: folder, env: environment });
  return stdout;
}

async function program(code: string): Promise<string> {
  const file = join(folder, "example.mts");
  await writeFile(file, code);
  const { stdout } = await run(process.execPath, ["--import", "tsx", file], {
    cwd: folder,
    env: environment,
  });
  return stdout;
}

const wishFor = (transport: Transport): Wish => ({
  transport,
  input: INPUT,
  voice: "clara",
  format: "pcm",
  seed: 7,
});

const code = (language: Language, transport: Transport) =>
  codeFor(language, wishFor(transport), options);

/** The sound that an example has kept. */
async function kept(): Promise<Buffer> {
  const file = join(folder, "speech.pcm");
  const bytes = await readFile(file);
  await rm(file);
  return bytes;
}

describe("the description", () => {
  const named = (id: string) => {
    const found = operationsOf(openapi).find((operation) => operation.id === id);
    if (found === undefined) throw new Error(`There is no operation '${id}'`);
    return found;
  };

  it("are all there, each under one of the document's tags", () => {
    const paths = Object.keys(openapi.paths);
    expect([...new Set(operationsOf(openapi).map(({ path }) => path))]).toEqual(paths);
    const tags = openapi.tags.map(({ name }) => name);
    for (const { id, tag } of operationsOf(openapi)) expect(tags, id).toContain(tag);
  });

  it("show every field of a body, every answer and every error", () => {
    const speech = named("createSpeech");
    const fields = speech.bodies[0]?.fields.map(({ name }) => name) ?? [];
    expect(fields).toEqual(expect.arrayContaining(["input", "voice", "seed", "stream_format"]));
    expect(speech.bodies[0]?.fields.find(({ name }) => name === "input")?.isRequired).toBe(true);
    const refused = speech.answers.find(({ status }) => status === "503");
    expect(refused?.errors).toContain("overloaded");
    expect(refused?.headers.map(({ name }) => name)).toEqual(["Retry-After"]);
  });

  it("show each event of a stream by its own name", () => {
    const events = named("createSpeech").answers[0]?.bodies.filter(
      ({ contentType }) => contentType === "text/event-stream",
    );
    expect(events?.map(({ name }) => name)).toEqual([
      "speech.audio.delta",
      "speech.audio.done",
      "speech.audio.error",
    ]);
  });

  it("know their path parameters, and which of them are sockets", () => {
    expect(named("getVoice").parameters).toMatchObject([
      { name: "name", isRequired: true },
      { name: "model", isRequired: false },
    ]);
    const sockets = operationsOf(openapi)
      .filter(({ isSocket }) => isSocket)
      .map(({ id }) => id);
    expect(sockets).toEqual(["openSpeechStream", "openSpeechSocket"]);
  });

  it("describe every field that they show", () => {
    for (const { id, bodies } of operationsOf(openapi)) {
      for (const { fields } of bodies) {
        for (const { name, description } of fields)
          expect(description, `${id} ${name}`).not.toBe("");
      }
    }
  });

  it("shows messages of both directions with their fields", () => {
    const heard = messagesOf(asyncapi, "receive");
    expect(heard.map(({ name }) => name)).toContain("session.config");
    const created = messagesOf(asyncapi, "send").find(({ name }) => name === "session.created");
    const names = fieldRows(created?.payload as JsonSchema).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["session_id", "limits", "limits.buffer_chars"]));
  });
});

describe("examples of speech", () => {
  let sound: Buffer;

  it("curl keeps the whole", async () => {
    await shell(code("curl", "whole"));
    sound = await kept();
    expect(sound.length).toBeGreaterThan(48_000);
  });

  it("curl keeps the same from a stream", async () => {
    await shell(code("curl", "stream"));
    expect((await kept()).equals(sound)).toBe(true);
  });

  it("curl prints events that hold the same", async () => {
    const printed = await shell(code("curl", "events"));
    const data = [...printed.matchAll(/^data: (.*)$/gm)].map(([, text = ""]) => JSON.parse(text));
    const parts = data.flatMap(({ audio }) => (audio ? [Buffer.from(audio, "base64")] : []));
    expect(Buffer.concat(parts).equals(sound)).toBe(true);
    expect(data.at(-1)).toMatchObject({ type: "speech.audio.done" });
  });

  it("curl shows the handshake of the socket", async () => {
    // It waits for what nobody says until its own limit ends it, which it reports as 28.
    const failure = await shell(code("curl", "socket")).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 28 });
    const { stdout } = failure as { stdout: string };
    expect(stdout).toContain("101 Switching Protocols");
    expect(stdout).toContain("Sec-WebSocket-Protocol: voice-speech.v2");
  });

  it.each(["whole", "stream", "socket"] as const)("TypeScript keeps the same: %s", async (way) => {
    await program(code("TypeScript", way));
    expect((await kept()).equals(sound)).toBe(true);
  });

  it("TypeScript reads the events", async () => {
    const lines = (await program(code("TypeScript", "events"))).trim().split("\n");
    const deltas = lines.filter((line) => line.startsWith("speech.audio.delta"));
    const bytes = deltas.reduce((sum, line) => sum + Number(line.split(" ")[1]), 0);
    expect(bytes).toBe(sound.length);
    expect(lines.some((line) => line.startsWith("speech.audio.done"))).toBe(true);
  });

  it("Python is Python", async (context) => {
    const isThere = await run("python3", ["--version"]).then(
      () => true,
      () => false,
    );
    if (!isThere) return context.skip();
    for (const transport of TRANSPORTS) {
      for (const needsKey of [true, false]) {
        const text = codeFor("Python", wishFor(transport), { ...options, needsKey });
        await run("python3", ["-c", "import ast, sys; ast.parse(sys.argv[1])", text]);
      }
    }
  });

  it("Python reads events with nothing but its own library", async (context) => {
    const printed = await run("python3", ["-c", code("Python", "events")], {
      env: environment,
    }).catch((error: { code?: unknown }) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (printed === undefined) return context.skip();
    expect(printed.stdout).toContain("speech.audio.done 0");
  });
});

describe("examples of routes", () => {
  /** Those that need what no example can bring: a reference elsewhere, or a model that blends. */
  const WITHOUT = ["openSpeechStream", "openSpeechSocket", "createVoicePrompt", "blendVoices"];
  const call = (operation: Operation) =>
    curlForRoute(operation, options, { voice: "clara", model: options.model });

  it("are there for every route but a few", () => {
    const missing = operationsOf(openapi).filter((operation) => call(operation) === undefined);
    expect(missing.map(({ id }) => id).sort()).toEqual([...WITHOUT].sort());
  });

  it("work one after the other: speak, add that as a voice, ask, change it, delete it", async () => {
    const first = ["createSpeech", "uploadVoice"];
    const last = ["deleteVoice"];
    const place = ({ id }: Operation) => (first.includes(id) ? 0 : last.includes(id) ? 2 : 1);
    const inOrder = operationsOf(openapi).sort((a, b) => place(a) - place(b));
    const done: string[] = [];
    for (const operation of inOrder) {
      const command = call(operation);
      if (command === undefined) continue;
      await shell(command).catch((error: { stdout?: string }) => {
        throw new Error(`${operation.id}: ${error.stdout}\n${command}`);
      });
      done.push(operation.id);
    }
    expect(done.length).toBe(inOrder.length - WITHOUT.length);
    expect((await readFile(join(folder, "speech.wav"))).toString("latin1", 0, 4)).toBe("RIFF");
  });
});
