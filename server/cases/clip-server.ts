/** The content behind the placeholders of speech-api-cases.json: recordings, numbers, texts, and a server of clips. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { encodeAll } from "../audio/encode.ts";
import type { OutputFormat } from "../audio/encoder.ts";
import document from "../protocol/fixtures/speech-api-cases.json" with { type: "json" };
import { fixture as plainFixture } from "../protocol/test-cases.ts";

interface Recording {
  readonly kind: string;
  readonly seconds?: number;
  readonly bytes?: number;
  readonly rate?: number;
  readonly channels?: number;
  readonly text?: string;
  readonly as?: string;
}

const RECORDINGS = document.fixtures as Record<string, Recording>;
const PLACEHOLDER = /^\{\{fixture:(\w+)\}\}$/;
const FORMATS: Readonly<Record<string, OutputFormat>> = { wav16: "wav", flac: "flac", mp3: "mp3" };
const HEADER_BYTES = 44;

/** 220 Hz with 2 percent of noise, as the file says. */
function signal(frames: number, rate: number, channels: number): Float32Array {
  let noise = 1;
  return Float32Array.from({ length: frames * channels }, (_, i) => {
    noise = (noise * 1_103_515_245 + 12_345) % 2 ** 31;
    const tone = Math.sin((2 * Math.PI * 220 * Math.floor(i / channels)) / rate);
    return 0.3 * tone + 0.006 * (noise / 2 ** 30 - 1);
  });
}

/** The bytes of a recording of the file. */
export async function recordingOf(name: string): Promise<Uint8Array> {
  const { kind, seconds, bytes = 0, rate = 48_000, channels = 1, text } = RECORDINGS[name] ?? {};
  if (kind === "bytes") return Buffer.from(text ?? "");
  const format = FORMATS[kind ?? ""];
  if (format === undefined) throw new Error(`${name} is no recording`);
  const wide = channels === 2 ? 2 : 1;
  const frames = seconds === undefined ? (bytes - HEADER_BYTES) / (2 * wide) : seconds * rate;
  const pcm = signal(Math.round(frames), rate, wide);
  return encodeAll(format, pcm, { sampleRate: rate, channels: wide });
}

/** Answers that a server of clips gives, by the name of the fixture. */
const CLIP_SERVER: Readonly<Record<string, (response: ServerResponse, base: string) => void>> = {
  http_ref_3s_url: (response) => void sendClip(response),
  http_redirect_to_loopback_url: (response) =>
    response.writeHead(302, { location: "http://127.0.0.1/secret.wav" }).end(),
  http_redirect_x4_url: (response, base) => redirect(response, `${base}/hop/3`),
  http_endless_url: (response) => endless(response),
  http_hanging_url: () => {},
};

async function sendClip(response: ServerResponse): Promise<void> {
  const bytes = await recordingOf("ref_3s_data_url");
  response.writeHead(200, { "content-type": "audio/wav" }).end(bytes);
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(302, { location }).end();
}

function endless(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "audio/wav" });
  const block = Buffer.alloc(2 ** 18);
  const write = () => {
    while (!response.destroyed && response.write(block));
  };
  response.on("drain", write);
  write();
}

export class ClipServer {
  private constructor(
    private readonly server: Server,
    /** "host:port" */
    readonly host: string,
  ) {}

  static async start(): Promise<ClipServer> {
    const server = createServer((request, response) => {
      const base = `http://${request.headers.host}`;
      const [, name = "", hops = "0"] = (request.url ?? "").split("/");
      if (name !== "hop") CLIP_SERVER[name]?.(response, base);
      else if (hops === "0") void sendClip(response);
      else redirect(response, `${base}/hop/${Number(hops) - 1}`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new ClipServer(server, `127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  /** The value behind a fixture's name. */
  async fixture(name: string): Promise<unknown> {
    if (name === "json_17mib") return JSON.stringify({ input: "a".repeat(17 * 2 ** 20) });
    if (name in CLIP_SERVER) return `http://${this.host}/${name}`;
    const as = RECORDINGS[name]?.as;
    if (as === undefined) return plainFixture(name);
    const bytes = await recordingOf(name);
    if (as === "file") return bytes;
    const base64 = Buffer.from(bytes).toString("base64");
    return as === "base64" ? base64 : `${as},${base64}`;
  }

  /** A copy of a value with every placeholder replaced. */
  async filled(value: unknown): Promise<unknown> {
    if (typeof value === "string") {
      const name = PLACEHOLDER.exec(value)?.[1];
      return name === undefined ? value : this.fixture(name);
    }
    if (Array.isArray(value)) return Promise.all(value.map((item) => this.filled(item)));
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value).map(async ([key, member]) => [
      key,
      await this.filled(member),
    ]);
    return Object.fromEntries(await Promise.all(members));
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
