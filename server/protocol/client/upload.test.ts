/** Uploads where the platform tells how far they are, with a request of the test's own. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { SonantError } from "./error.ts";
import { SpeechClient } from "./http.ts";

async function failureOf(work: () => Promise<unknown>): Promise<SonantError> {
  const error = await work().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(SonantError);
  return error as SonantError;
}

describe("an upload where the platform tells progress", () => {
  const created = '{"success":true,"voice":{},"id":"v1","name":"Me"}';
  const voice = {
    name: "Me",
    consent: "yes",
    audio: { file: new Blob(["1234"]), filename: "a.wav" },
  };

  /** The platform's older kind of request: answers with a status, or does what it is told. */
  function platform(end: (request: FakeRequest) => void): FakeRequest[] {
    const made: FakeRequest[] = [];
    class Request extends FakeRequest {
      constructor() {
        super(end);
        made.push(this);
      }
    }
    vi.stubGlobal("XMLHttpRequest", Request);
    return made;
  }

  afterEach(() => vi.unstubAllGlobals());

  it("is told of each step", async () => {
    const made = platform((request) => {
      request.upload.onprogress({ loaded: 2, total: 4 });
      request.upload.onprogress({ loaded: 4, total: 4 });
      request.answer(200, created);
    });
    const client = new SpeechClient({ baseUrl: "", apiKey: "k" });
    const seen: number[] = [];
    const onProgress = ({ sentBytes }: { sentBytes: number }) => seen.push(sentBytes);
    expect(await client.uploadVoice(voice, { onProgress })).toMatchObject({ id: "v1" });
    expect(seen).toEqual([2, 4]);
    expect(made[0]?.opened).toEqual(["POST", "/v1/audio/voices"]);
    expect(made[0]?.headers).toEqual({ authorization: "Bearer k" });
    expect(made[0]?.form?.get("consent")).toBe("yes");
  });

  it.each([
    [
      (request: FakeRequest) =>
        request.answer(400, '{"error":{"message":"Too big.","reason":"upload_too_large"}}'),
      { code: "upload_too_large", status: 400, message: "Too big." },
    ],
    [(request: FakeRequest) => request.onerror(), { code: "network" }],
    [(request: FakeRequest) => request.answer(200, "?"), { code: "malformed_answer" }],
  ])("fails like every call: %#", async (end, expected) => {
    platform(end);
    const client = new SpeechClient({ baseUrl: "" });
    const work = () => client.uploadVoice(voice, { onProgress: () => {} });
    expect(await failureOf(work)).toMatchObject(expected);
  });

  it("can be stopped", async () => {
    platform(() => {});
    const stop = new AbortController();
    const client = new SpeechClient({ baseUrl: "" });
    const work = client.uploadVoice(voice, { onProgress: () => {}, signal: stop.signal });
    stop.abort();
    expect(await failureOf(() => work)).toMatchObject({ code: "aborted" });
  });
});

/** As much of XMLHttpRequest as an upload uses. */
class FakeRequest {
  opened: string[] = [];
  readonly headers: Record<string, string> = {};
  readonly upload = { onprogress: (_: { loaded: number; total: number }) => {} };
  form: FormData | undefined;
  status = 0;
  responseText = "";
  onload = () => {};
  onerror = () => {};
  onabort = () => {};

  constructor(readonly end: (request: FakeRequest) => void) {}

  open(...what: string[]): void {
    this.opened = what;
  }

  setRequestHeader(name: string, value: string): void {
    this.headers[name] = value;
  }

  getResponseHeader(): null {
    return null;
  }

  send(form: FormData): void {
    this.form = form;
    this.end(this);
  }

  abort(): void {
    this.onabort();
  }

  answer(status: number, text: string): void {
    this.status = status;
    this.responseText = text;
    this.onload();
  }
}
