/**
 * HTTP cases of speech-api-cases.json against any server that listens: what has to be there first, the request with its
 * placeholders filled in, the answer, and what is compared with the answers of other cases.
 */
import type { WireCase } from "../protocol/test-cases.ts";
import { type CaseAnswer, checkAnswer, compareAnswers, type Expectation } from "./answer-checks.ts";
import { holds, same } from "./check.ts";
import { type ClipServer, recordingOf } from "./clip-server.ts";

/** A server for one case, with its clips. */
export interface Door {
  readonly url: string;
  readonly clips: ClipServer;
  /** Sent with every request, under the headers of the case. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Repetition {
  readonly second_run_concurrency?: number;
}

/** What a case expects. */
export function wantedOf({ expect }: WireCase): Expectation {
  return (expect ?? {}) as Expectation;
}

async function formOf(
  multipart: NonNullable<WireCase["multipart"]>,
  { clips }: Door,
): Promise<FormData> {
  const form = new FormData();
  const fields = (await clips.filled(multipart.fields)) as Record<string, unknown>;
  for (const [name, value] of Object.entries(fields)) {
    form.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  for (const [name, file] of Object.entries(multipart.files ?? {})) {
    const bytes = await recordingOf(file.fixture);
    form.set(name, new Blob([bytes.slice()], { type: file.content_type }), file.filename);
  }
  return form;
}

async function bodyOf(
  wireCase: WireCase,
  door: Door,
): Promise<{ body?: BodyInit; headers: HeadersInit }> {
  const { multipart, raw_body: raw, body, headers: given = {} } = wireCase;
  const headers = { ...door.headers, ...given };
  if (multipart !== undefined) return { body: await formOf(multipart, door), headers };
  const json = { "content-type": "application/json", ...headers };
  if (raw !== undefined) return { body: String(await door.clips.filled(raw)), headers: json };
  if (body === undefined) return { headers };
  const filled = await door.clips.filled(body);
  return { body: JSON.stringify(filled), headers: json };
}

/** Reads until the end, until the body breaks, or until as many bytes are there as are wanted. */
async function read(response: Response, most = Number.POSITIVE_INFINITY): Promise<CaseAnswer> {
  const parts: Uint8Array[] = [];
  let isBroken = false;
  let size = 0;
  const reader = response.body?.getReader();
  try {
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
      parts.push(next.value);
      size += next.value.length;
      if (size >= most) {
        await reader?.cancel();
        break;
      }
    }
  } catch {
    isBroken = true;
  }
  const { status, headers } = response;
  return { status, headers, body: Buffer.concat(parts), isBroken };
}

/** Sends the request of a case. @param most bytes after which the client leaves */
async function send(door: Door, wireCase: WireCase, most?: number): Promise<CaseAnswer> {
  const { method, path } = wireCase;
  return read(await fetch(door.url + path, { method, ...(await bodyOf(wireCase, door)) }), most);
}

const UPLOAD = {
  files: {
    audio_sample: { fixture: "wav_1_1s_44k", filename: "clip.wav", content_type: "audio/wav" },
  },
};

/** What has to be there before a case begins. */
async function prepare(door: Door, { setup = [], ...wireCase }: WireCase): Promise<void> {
  for (const { upload, consent = "c", delete: name, speech } of setup) {
    const step: WireCase =
      upload !== undefined
        ? {
            ...wireCase,
            method: "POST",
            path: "/v1/audio/voices",
            multipart: { ...UPLOAD, fields: { name: String(upload), consent: String(consent) } },
          }
        : name !== undefined
          ? { ...wireCase, method: "DELETE", path: `/v1/audio/voices/${name}` }
          : { ...wireCase, method: "POST", path: "/v1/audio/speech", body: speech };
    const { status, body } = await send(door, step);
    holds(status === 200, `what the case needs first was refused: ${Buffer.from(body)}`);
  }
}

/** The file looks at the list of uploads afterwards in one way only. */
async function checkUploads(door: Door, wireCase: WireCase): Promise<void> {
  const { then } = wireCase as { then?: { path: string } };
  if (then === undefined) return;
  const voices = await (await fetch(door.url + then.path, { headers: door.headers ?? {} })).json();
  const uploaded = voices.uploaded_voices as { name: string }[];
  same(
    "the uploads",
    uploaded.map(({ name }) => name.toLowerCase()),
    ["uv1"],
  );
}

/**
 * Plays a case and checks its answer, but for what is compared with other cases.
 * @throws Mismatch
 */
export async function playHttp(door: Door, wireCase: WireCase): Promise<CaseAnswer> {
  const wanted = wantedOf(wireCase) as Expectation & {
    client?: { read_bytes: number };
    compare?: Repetition;
  };
  await prepare(door, wireCase);
  const answer = await send(door, wireCase, wanted.client?.read_bytes);
  await checkAnswer(answer, wanted);
  const beside = wanted.compare?.second_run_concurrency;
  if (beside !== undefined) {
    const runs = Array.from({ length: beside }, () => send(door, wireCase));
    for (const again of await Promise.all(runs)) await compareAnswers(again, answer, wanted);
  }
  await checkUploads(door, wireCase);
  return answer;
}

/** The case whose answer this one's is compared with; without a seed no two requests are spoken alike. */
export function comparedWith(wireCase: WireCase, cases: readonly WireCase[]): WireCase | undefined {
  const isComparable = (wireCase.body as { seed?: number } | undefined)?.seed !== undefined;
  const other = cases.find(({ name }) => name === wantedOf(wireCase).compare?.to);
  return isComparable ? other : undefined;
}
