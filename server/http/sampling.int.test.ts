/** Sampling defaults from the deploy file to the samples of an answer, in a server as an operator runs it. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../cases/server-process.ts";

/** Of the shipped model, as its config says. */
const CODEBOOK = 1024;
/** As its sonant.json says; the deploy file says otherwise. */
const MODEL_TOP_K = 20;
const DEPLOYED = { seed: 7, audio_top_k: 3, audio_temperature: 0.7 };

let server: ServerProcess;

beforeAll(async () => {
  const stages = [{ stage_id: 0, realtime_share: 0, default_sampling_params: DEPLOYED }];
  server = await ServerProcess.start({ settings: { stages } });
});
afterAll(() => server?.close());

/** The seed that an answer names, and its samples. */
async function speak(more: object = {}) {
  const answer = await fetch(`${server.url}/v1/audio/speech`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: "Hello there.", response_format: "pcm", ...more }),
  });
  expect(answer.status).toBe(200);
  const samples = Buffer.from(await answer.arrayBuffer()).toString("base64");
  return { seed: answer.headers.get("x-seed"), samples };
}

it("takes the deploy file's values for what a request leaves open, and not the model's", async () => {
  const open = await speak();
  expect(open.seed).toBe("7");
  expect(await speak()).toEqual(open);
  expect(await speak(DEPLOYED)).toEqual(open);
  expect((await speak({ audio_top_k: MODEL_TOP_K })).samples).not.toBe(open.samples);
});

it("takes the request's values where it has them, 0 included", async () => {
  const open = await speak();
  const unlimited = await speak({ audio_top_k: 0 });
  expect(unlimited.samples).not.toBe(open.samples);
  // As many candidates as there are codes is no limit either.
  expect(await speak({ audio_top_k: CODEBOOK })).toEqual(unlimited);
  expect(await speak({ extra_params: { audio_top_k: 0 } })).toEqual(unlimited);

  const zero = await speak({ seed: 0 });
  expect(zero.seed).toBe("0");
  expect(zero.samples).not.toBe(open.samples);
  expect(await speak({ seed: 0 })).toEqual(zero);
});
