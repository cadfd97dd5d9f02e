/** The HTTP client with a fetch of the test's own: what is asked, how bodies in pieces are read, and every kind of failure. */
import { describe, expect, it, vi } from "vitest";
import { HEADERS } from "../headers.ts";
import { formatEvent } from "../sse.ts";
import { SonantError } from "./error.ts";
import { retryAfterMs } from "./error-answers.ts";
import { SpeechClient } from "./http.ts";

interface Asked {
  readonly url: string;
  readonly init: RequestInit;
}

const AUDIO = {
  "content-type": "audio/pcm",
  [HEADERS.sampleRate]: "1000",
  [HEADERS.channels]: "2",
  [HEADERS.seed]: "18446744073709551615",
  [HEADERS.requestId]: "speech-1",
  [HEADERS.streamFormat]: "audio",
};

/** A client whose server answers as told; what it was asked is kept. */
function clientOf(answer: (asked: Asked) => Response | Promise<Response>, apiKey?: string) {
  const asked: Asked[] = [];
  let now = 0;
  const client = new SpeechClient({
    baseUrl: "http://house:1/v1/",
    apiKey,
    now: () => now++,
    fetch: async (url, init = {}) => {
      const request = { url: String(url), init };
      asked.push(request);
      return answer(request);
    },
  });
  return { client, asked };
}

/** A body that arrives in these pieces, and may break off after them. */
function bodyOf(pieces: readonly (string | readonly number[])[], failure?: Error) {
  const rest = [...pieces];
  const cancelled = vi.fn();
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = rest.shift();
        if (piece !== undefined) {
          const isText = typeof piece === "string";
          controller.enqueue(isText ? new TextEncoder().encode(piece) : Uint8Array.from(piece));
        } else if (failure === undefined) controller.close();
        else controller.error(failure);
      },
      cancel: cancelled,
    },
    { highWaterMark: 0 },
  );
  return { stream, cancelled };
}

async function failureOf(work: () => Promise<unknown>): Promise<SonantError> {
  const error = await work().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(SonantError);
  return error as SonantError;
}

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers });

it("tells of every refusal in one place, and fails all the same", async () => {
  const heard: (number | undefined)[] = [];
  const refuse = async () =>
    new Response(JSON.stringify({ error: "Unauthorized" }), { status: 401 });
  const client = new SpeechClient({
    baseUrl: "",
    fetch: refuse,
    onRefusal: ({ status }) => heard.push(status),
  });
  await expect(client.voices()).rejects.toMatchObject({ code: "unauthorized" });
  await expect(client.speech({ input: "Hi." })).rejects.toMatchObject({ status: 401 });
  expect(heard).toEqual([401, 401]);
});

describe("a whole speech", () => {
  it("is asked for with the key, and comes with its receipt", async () => {
    const { client, asked } = clientOf(
      () =>
        new Response(Uint8Array.from([1, 2, 3, 4]), {
          headers: {
            ...AUDIO,
            [HEADERS.streamFormat]: "whole",
            [HEADERS.segments]: "2",
            [HEADERS.truncated]: "false",
            [HEADERS.ignoredFields]: "a, b",
            [HEADERS.inputTokens]: "9",
            [HEADERS.outputTokens]: "5",
            [HEADERS.totalTokens]: "14",
            [HEADERS.inputTextTokens]: "9",
            [HEADERS.inputAudioTokens]: "0",
          },
        }),
      "secret",
    );
    const { bytes, receipt } = await client.speech(
      { input: "Hi.", seed: 2n ** 63n - 1n },
      { requestId: "mine" },
    );
    expect([...bytes]).toEqual([1, 2, 3, 4]);
    expect(receipt).toEqual({
      requestId: "speech-1",
      contentType: "audio/pcm",
      sampleRate: 1000,
      channels: 2,
      delivery: "whole",
      seed: "18446744073709551615",
      ignoredFields: ["a", "b"],
      segments: 2,
      truncated: false,
      usage: {
        input_tokens: 9,
        output_tokens: 5,
        total_tokens: 14,
        input_token_details: { text_tokens: 9, audio_tokens: 0 },
      },
    });
    expect(asked[0]?.url).toBe("http://house:1/v1/audio/speech");
    expect(asked[0]?.init).toMatchObject({
      method: "POST",
      body: '{"input":"Hi.","seed":9223372036854775807,"stream":false}',
      headers: {
        authorization: "Bearer secret",
        "content-type": "application/json",
        "x-request-id": "mine",
      },
    });
  });

  it("without a statement of its rate cannot be used", async () => {
    const { client } = clientOf(() => new Response("x"));
    const error = await failureOf(() => client.speech({ input: "Hi." }));
    expect(error).toMatchObject({ code: "malformed_answer" });
    expect(error.message).toContain(HEADERS.sampleRate);
  });
});

describe("a stream", () => {
  it("gives whole samples however the network cuts it, with times and lengths", async () => {
    const { stream } = bodyOf([[1], [2, 3], [], [4, 5, 6, 7, 8, 9], [10, 11, 12]]);
    const { client, asked } = clientOf(() => new Response(stream, { headers: AUDIO }));
    const speech = await client.stream({ input: "Hi." });
    expect(JSON.parse(String(asked[0]?.init.body))).toMatchObject({
      response_format: "pcm",
      stream: true,
      stream_format: "audio",
    });
    const pieces = await listOf(speech);
    expect(pieces.map(({ bytes }) => [...bytes])).toEqual([
      [1, 2, 3, 4, 5, 6, 7, 8],
      [9, 10, 11, 12],
    ]);
    expect(pieces.map(({ durationMs }) => durationMs)).toEqual([2, 1]);
    expect(speech.headersMs).toBeLessThan(pieces[0]?.atMs ?? 0);
    expect(pieces[0]?.atMs).toBeLessThan(pieces[1]?.atMs ?? 0);
  });

  it("that breaks off fails, and says that it can be repeated", async () => {
    const broken = bodyOf([[1, 2, 3, 4]], new TypeError("terminated"));
    const { client } = clientOf(() => new Response(broken.stream, { headers: AUDIO }));
    const speech = await client.stream({ input: "Hi." });
    const seen: number[] = [];
    const error = await failureOf(async () => {
      for await (const { bytes } of speech) seen.push(...bytes);
    });
    expect(seen).toEqual([1, 2, 3, 4]);
    expect(error).toMatchObject({ code: "interrupted", retryable: true });
  });

  it("that ends inside a sample fails as well", async () => {
    const { client } = clientOf(() => new Response(bodyOf([[1, 2]]).stream, { headers: AUDIO }));
    const speech = await client.stream({ input: "Hi." });
    expect((await failureOf(() => speech.bytes())).code).toBe("interrupted");
  });

  it("is stopped on the server when its reader leaves", async () => {
    const { stream, cancelled } = bodyOf(Array.from({ length: 100 }, () => [1, 2, 3, 4]));
    const { client } = clientOf(() => new Response(stream, { headers: AUDIO }));
    for await (const _ of await client.stream({ input: "Hi." })) break;
    expect(cancelled).toHaveBeenCalledOnce();
  });
});

describe("server-sent events", () => {
  const delta = {
    type: "speech.audio.delta",
    audio: "AQIDBA==",
    response_format: "pcm",
    sample_rate: 1000,
    channels: 2,
    start_ms: 0,
    duration_ms: 1,
  } as const;
  const usage = {
    input_tokens: 1,
    output_tokens: 2,
    total_tokens: 3,
    input_token_details: { text_tokens: 1, audio_tokens: 0 },
  };
  const whole = `: ping\n\n${formatEvent(delta)}${formatEvent({ type: "speech.audio.done", usage })}`;
  const answer = (pieces: readonly string[]) =>
    clientOf(
      () =>
        new Response(bodyOf(pieces).stream, {
          headers: { ...AUDIO, "content-type": "text/event-stream" },
        }),
    ).client.sse({ input: "Hi." });

  it.each([1, 2, 7, 1000])(
    "are read in pieces of %d characters, with either line end",
    async (size) => {
      for (const text of [whole, whole.replaceAll("\n", "\r\n")]) {
        const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
        const events = await listOf(await answer(pieces));
        expect(events).toMatchObject([
          { type: "audio", bytes: Uint8Array.from([1, 2, 3, 4]), durationMs: 1, sampleRate: 1000 },
          { type: "done", usage },
        ]);
      }
    },
  );

  it("fail with what the server says, or if they end without a word", async () => {
    const failed = formatEvent({
      type: "speech.audio.error",
      error: { message: "It broke.", type: "server_error", param: null, code: 500 },
    });
    const told = await failureOf(async () => listOf(await answer([formatEvent(delta), failed])));
    expect(told).toMatchObject({ code: "generation_failed", message: "It broke.", status: 500 });
    const silent = await failureOf(async () => listOf(await answer([formatEvent(delta)])));
    expect(silent.code).toBe("interrupted");
  });

  it.each([["data: {\n\n"], ["data: 5\n\n"], [formatEvent({ ...delta, audio: "*" })]])(
    "that are none fail: %j",
    async (text) => {
      const error = await failureOf(async () => listOf(await answer([text])));
      expect(error.code).toBe("malformed_answer");
    },
  );
});

describe("failures", () => {
  const envelope = {
    message: "Too busy.",
    type: "ServiceUnavailableError",
    param: null,
    code: 503,
    reason: "overloaded",
    retryable: true,
    hint: "Wait.",
    request_id: "speech-9",
  };

  it.each([
    [
      json({ error: envelope }, 503, { "retry-after": "3", "x-request-id": "other" }),
      {
        ...{ code: "overloaded", message: "Too busy.", hint: "Wait.", status: 503 },
        ...{ retryable: true, retryAfterMs: 3000, requestId: "speech-9", param: undefined },
      },
    ],
    [
      json({ error: "Unauthorized" }, 401, { "x-request-id": "speech-2" }),
      { code: "unauthorized", retryable: false, status: 401, requestId: "speech-2" },
    ],
    [json({ detail: "Not Found" }, 404), { code: "not_found", status: 404 }],
    [json({ detail: "Method Not Allowed" }, 405), { code: "refused", status: 405 }],
    [json({ error: { message: "Slow down.", code: 429 } }, 429), { code: "rate_limited" }],
    [json({ success: false, error: "Voice 'x' not found" }, 404), { code: "voice_not_found" }],
    [
      new Response("<html>", { status: 502 }),
      { code: "unavailable", retryable: true, status: 502 },
    ],
    [new Response("", { status: 500 }), { code: "internal", retryable: true }],
    [new Response("?", { status: 418 }), { code: "malformed_answer", retryable: false }],
  ])("an answer becomes the one error: %#", async (response, expected) => {
    const { client } = clientOf(() => response);
    const error = await failureOf(() => client.voices());
    expect(error).toMatchObject(expected);
    expect(error.message).not.toBe("");
    expect(error.hint).not.toBe("");
  });

  it("no answer is a failure of the network, unless it was stopped", async () => {
    const { client } = clientOf(() => Promise.reject(new TypeError("fetch failed")));
    expect(await failureOf(() => client.limits())).toMatchObject({
      code: "network",
      retryable: true,
      status: undefined,
    });
    const stop = new AbortController();
    stop.abort(new Error("enough"));
    const stopped = clientOf(({ init }) => Promise.reject(init.signal?.reason)).client;
    const error = await failureOf(() => stopped.limits({ signal: stop.signal }));
    expect(error).toMatchObject({ code: "aborted", retryable: false });
  });

  it("a document of another kind is none", async () => {
    for (const text of ["[", "[]", "null", '"voices"', '{"voices":[]}']) {
      const error = await failureOf(() => clientOf(() => new Response(text)).client.voices());
      expect(error.code).toBe("malformed_answer");
    }
  });

  it.each([
    ["5", 5000],
    ["0", 0],
    ["Thu, 01 Jan 1970 00:00:12 GMT", 2000],
    ["Thu, 01 Jan 1970 00:00:01 GMT", 0],
    ["soon", undefined],
    ["", undefined],
    [null, undefined],
  ])("Retry-After of %j is %j ms", (value, expected) => {
    expect(retryAfterMs(value, 10_000)).toBe(expected);
  });
});

const LIMITS = { limits: {}, formats: [], sample_rate: 48_000 };

describe("documents", () => {
  it("of a server that is not well are answers as well", async () => {
    const { client } = clientOf(({ url }) =>
      url.endsWith("/health")
        ? json({ status: "unhealthy", reason: "warming" }, 503)
        : json({ ready: false, active: 0, waiting: 0, capacity: 0 }, 503),
    );
    expect(await client.health()).toMatchObject({ status: "unhealthy" });
    expect(await client.ready()).toMatchObject({ ready: false });
  });

  it("are found where they are, whatever characters names have", async () => {
    const { client, asked } = clientOf(() =>
      json({ kind: "preset", name: "x", id: "x", root: "x", success: true }),
    );
    await client.voice("a/b ü");
    await client.model("org/name");
    await client.deleteVoice("a?");
    expect(asked.map(({ url, init }) => `${init.method} ${url}`)).toEqual([
      "GET http://house:1/v1/audio/voices/a%2Fb%20%C3%BC",
      "GET http://house:1/v1/models/org/name",
      "DELETE http://house:1/v1/audio/voices/a%3F",
    ]);
  });

  it("of one model among several are asked for by its name", async () => {
    const { client, asked } = clientOf(() =>
      json({ ...{ id: "x", root: "x", voices: [], uploaded_voices: [], presets: [] }, ...LIMITS }),
    );
    await client.voices({ model: "org/name" });
    await client.voices();
    await client.limits({ model: "b" });
    await client.loadModel("org/name");
    await client.unloadModel("b c");
    expect(asked.map(({ url, init }) => `${init.method} ${url}`)).toEqual([
      "GET http://house:1/v1/audio/voices?model=org%2Fname",
      "GET http://house:1/v1/audio/voices",
      "GET http://house:1/v1/audio/speech/limits?model=b",
      "POST http://house:1/v1/models/org/name/load",
      "POST http://house:1/v1/models/b%20c/unload",
    ]);
  });

  it("of a voice are changed, and its recording is read as it is", async () => {
    const { client, asked } = clientOf(({ init }) =>
      init.method === "PATCH"
        ? json({ kind: "uploaded", name: "b" })
        : new Response(Uint8Array.from([1, 2]), { headers: { "content-type": "audio/flac" } }),
    );
    expect(await client.updateVoice("a b", { name: "b", language: null })).toMatchObject({
      name: "b",
    });
    const recording = { bytes: Uint8Array.from([1, 2]), mimeType: "audio/flac" };
    expect(await client.voiceAudio("a b")).toEqual(recording);
    expect(asked.map(({ url, init }) => [init.method, url, init.body])).toEqual([
      ["PATCH", "http://house:1/v1/audio/voices/a%20b", '{"name":"b","language":null}'],
      ["GET", "http://house:1/v1/audio/voices/a%20b/audio", undefined],
    ]);
    const broken = clientOf(() => new Response(bodyOf([[1]], new Error("cut")).stream));
    expect(await failureOf(() => broken.client.voiceAudio("a"))).toMatchObject({
      code: "interrupted",
    });
  });

  it("of a batch come line by line", async () => {
    const lines = ['{"index":1,"status":"success"}\n{"ind', 'ex":0,"status":"error"}\n'];
    const { client, asked } = clientOf(() => new Response(bodyOf(lines).stream));
    const results = await listOf(client.batchResults({ items: [{ input: "a" }] }));
    expect(results.map(({ index }) => index)).toEqual([1, 0]);
    expect(asked[0]?.init.headers).toMatchObject({ accept: "application/x-ndjson" });
  });
});
