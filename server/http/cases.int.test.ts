/** The HTTP cases of the shared file, driven from it, against the shipped model. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { CASES, type WireCase } from "../protocol/test-cases.ts";
import {
  type CaseAnswer,
  checkAnswer,
  compareAnswers,
  type Expectation,
} from "./test-case-checks.ts";
import { ClipServer, recordingOf } from "./test-case-fixtures.ts";
import { CaseHouse, type CaseServer } from "./test-case-server.ts";

/** Cases that are not run, each with its reason. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  emb_ok_1024: "no model family with speaker embeddings is served",
  upload_embedding_ok: "no model family with speaker embeddings is served",
};

const http = CASES.filter(({ method }) => method !== "WS" && method !== "UNIT");
const run = http.filter(({ name }) => !Object.hasOwn(LEFT_OUT, name));

let house: CaseHouse;
let clips: ClipServer;

beforeAll(async () => {
  [house, clips] = await Promise.all([CaseHouse.open(), ClipServer.start()]);
});

afterAll(async () => {
  clips?.close();
  await house?.close();
});

async function formOf(multipart: NonNullable<WireCase["multipart"]>): Promise<FormData> {
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

async function bodyOf(wireCase: WireCase): Promise<{ body?: BodyInit; headers: HeadersInit }> {
  const { multipart, raw_body: raw, body, headers = {} } = wireCase;
  if (multipart !== undefined) return { body: await formOf(multipart), headers };
  const json = { "content-type": "application/json", ...headers };
  if (raw !== undefined) return { body: String(await clips.filled(raw)), headers: json };
  if (body === undefined) return { headers };
  return { body: JSON.stringify(await clips.filled(body)), headers: json };
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

async function send(url: string, wireCase: WireCase, most?: number): Promise<CaseAnswer> {
  const { method, path } = wireCase;
  return read(await fetch(url + path, { method, ...(await bodyOf(wireCase)) }), most);
}

const UPLOAD = {
  files: {
    audio_sample: { fixture: "wav_1_1s_44k", filename: "clip.wav", content_type: "audio/wav" },
  },
};

/** What has to be there before a case begins. */
async function prepare(url: string, { setup = [], ...wireCase }: WireCase): Promise<void> {
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
    const { status, body } = await send(url, step);
    expect(status, new TextDecoder().decode(body)).toBe(200);
  }
}

/** What has to be so after a case. */
async function checkAfter(server: CaseServer, wireCase: WireCase): Promise<void> {
  const { then } = wireCase as { then?: { path: string; count?: object; json_contains?: object } };
  if (then !== undefined) {
    const voices = await (await fetch(server.url + then.path)).json();
    const uploaded = voices.uploaded_voices as { name: string }[];
    expect(uploaded.map(({ name }) => name.toLowerCase())).toEqual(["uv1"]);
  }
  if (wireCase.name === "disconnect_aborts_request") {
    await vi.waitUntil(() => server.fake?.last.wasStopped);
    expect(server.fake?.sessions).toHaveLength(1);
  }
}

const answers = new Map<string, CaseAnswer>();

interface Repetition {
  readonly self_repeat?: number;
  readonly second_run_concurrency?: number;
}

/** The same request again, among others. */
async function repeated(url: string, wireCase: WireCase, beside: number): Promise<CaseAnswer> {
  const runs = Array.from({ length: beside }, () => send(url, wireCase));
  const [first] = await Promise.all(runs);
  if (first === undefined) throw new Error("nothing was repeated");
  return first;
}

async function play(wireCase: WireCase): Promise<CaseAnswer> {
  const known = answers.get(wireCase.name);
  if (known !== undefined) return known;
  const wanted = (wireCase.expect ?? {}) as Expectation & {
    client?: { read_bytes: number };
    compare?: Repetition;
  };
  const server = await house.serve(wireCase, clips.host);
  try {
    await prepare(server.url, wireCase);
    const answer = await send(server.url, wireCase, wanted.client?.read_bytes);
    await checkAnswer(answer, wanted);
    const beside = wanted.compare?.second_run_concurrency;
    if (beside !== undefined) {
      await compareAnswers(await repeated(server.url, wireCase, beside), answer, wanted);
    }
    await checkAfter(server, wireCase);
    answers.set(wireCase.name, answer);
    return answer;
  } finally {
    await server.close();
  }
}

it("leaves out few of the cases", () => {
  const names = http.map(({ name }) => name);
  for (const name of Object.keys(LEFT_OUT)) expect(names).toContain(name);
  expect(run.length / http.length).toBeGreaterThanOrEqual(0.95);
});

it.each(run.map((wireCase) => [wireCase.name, wireCase] as const))("%s", async (_, wireCase) => {
  const answer = await play(wireCase);
  const wanted = (wireCase.expect ?? {}) as Expectation;
  const other = CASES.find(({ name }) => name === wanted.compare?.to);
  // Without a seed, no two requests are spoken alike.
  const isComparable = (wireCase.body as { seed?: number } | undefined)?.seed !== undefined;
  if (other !== undefined && isComparable) await compareAnswers(answer, await play(other), wanted);
});
