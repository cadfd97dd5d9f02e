/**
 * One HTTP request of a case over a connection of its own: what was sent, what came back, and when. Clients that leave in
 * the middle are made by destroying the socket.
 */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";

/** A reply as far as the client got it. Times are in milliseconds from the request. */
export interface HttpReply {
  /** 0: none came. */
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
  readonly firstByteMs: number;
  readonly totalMs: number;
  /** The client left on purpose. */
  readonly hasLeft: boolean;
  /** Why the reply is not whole, if it is not and the client did not leave. */
  readonly failure: string | undefined;
  /** The request as one text: replies to equal ones can be compared. */
  readonly request: string;
}

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  /** Leave after so much of the body was received. */
  readonly leaveAfter?: { readonly bytes?: number; readonly chunks?: number; readonly ms?: number };
  /** Leave after that share of the request's body was sent. */
  readonly sendShare?: number;
  readonly timeoutMs: number;
  /** Ends the request when it fires; counts as leaving. */
  readonly signal?: AbortSignal;
}

/** So much of a body is part of what identifies a request; of forms, that is their text fields. */
const IDENTITY_BYTES = 20_000;
const FORM_BYTES = 250;

function identity({ method, url, body, headers }: HttpRequest): string {
  const most = headers["content-type"]?.startsWith("multipart") ? FORM_BYTES : IDENTITY_BYTES;
  return `${method} ${new URL(url).pathname} ${body?.subarray(0, most) ?? ""}`;
}

/** Sends a request and reads its reply; never rejects: failures are part of the reply. */
export function send(wanted: HttpRequest): Promise<HttpReply> {
  const { method, url, headers, body, leaveAfter = {}, sendShare, timeoutMs, signal } = wanted;
  return new Promise((resolve) => {
    const from = performance.now();
    const chunks: Buffer[] = [];
    let [size, firstByteMs] = [0, Number.NaN];
    let response: IncomingMessage | undefined;
    let isSettled = false;
    const make = url.startsWith("https:") ? httpsRequest : httpRequest;
    const client = make(url, {
      method,
      agent: false,
      headers: body === undefined ? headers : { "content-length": body.length, ...headers },
    });

    const settle = (hasLeft: boolean, failure?: string) => {
      if (isSettled) return;
      isSettled = true;
      for (const timer of timers) clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
      // A request that was answered before it was sent completely stays open until somebody closes it.
      client.destroy();
      resolve({
        status: response?.statusCode ?? 0,
        headers: response?.headers ?? {},
        body: Buffer.concat(chunks),
        firstByteMs,
        totalMs: performance.now() - from,
        hasLeft,
        failure,
        request: identity(wanted),
      });
    };
    const leave = () => settle(true);
    const timers = [setTimeout(() => settle(false, `no end within ${timeoutMs} ms`), timeoutMs)];
    if (leaveAfter.ms !== undefined) timers.push(setTimeout(leave, leaveAfter.ms));
    signal?.addEventListener("abort", leave);

    client.on("response", (incoming) => {
      response = incoming;
      incoming.on("data", (data: Buffer) => {
        if (size === 0) firstByteMs = performance.now() - from;
        chunks.push(data);
        size += data.length;
        const { bytes, chunks: pieces } = leaveAfter;
        if (size >= (bytes ?? Infinity) || chunks.length >= (pieces ?? Infinity)) leave();
      });
      incoming.on("end", () => settle(false));
      incoming.on("error", (error) => settle(false, error.message));
    });
    // Servers answer what they refuse before it has come completely; the answer may still be on its way.
    client.on("error", (error) => {
      if (response === undefined) setTimeout(() => settle(false, error.message), 200);
    });
    if (sendShare === undefined || body === undefined) client.end(body);
    else client.write(body.subarray(0, Math.floor(body.length * sendShare)), leave);
  });
}

export interface FormPart {
  readonly name: string;
  readonly value: Buffer;
  /** Set for files. */
  readonly filename?: string;
}

const BOUNDARY = "----sonant-cases-7d1f0c";

const TYPES: Readonly<Record<string, string>> = {
  wav: "audio/wav",
  mp3: "audio/mpeg",
  m4a: "audio/mp4",
  mp4: "audio/mp4",
  ogg: "audio/ogg",
  flac: "audio/flac",
};

/** A multipart body, with names escaped as browsers do it. */
export function form(parts: readonly FormPart[]): {
  body: Buffer;
  headers: Record<string, string>;
} {
  const escaped = (text: string) =>
    text.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  const pieces = parts.flatMap(({ name, value, filename }) => {
    const type = TYPES[filename?.split(".").at(-1) ?? ""] ?? "application/octet-stream";
    const file =
      filename === undefined ? "" : `; filename="${escaped(filename)}"\r\ncontent-type: ${type}`;
    const head = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${escaped(name)}"${file}\r\n\r\n`;
    return [Buffer.from(head), value, Buffer.from("\r\n")];
  });
  return {
    body: Buffer.concat([...pieces, Buffer.from(`--${BOUNDARY}--\r\n`)]),
    headers: { "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
  };
}
