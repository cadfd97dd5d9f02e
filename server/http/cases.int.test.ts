/** The HTTP cases of the shared file, driven from it, against the shipped model. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type CaseAnswer, compareAnswers } from "../cases/answer-checks.ts";
import { ClipServer } from "../cases/clip-server.ts";
import { comparedWith, playHttp, wantedOf } from "../cases/speech-api-http.ts";
import { CASES, type WireCase } from "../protocol/test-cases.ts";
import { CaseHouse } from "./test-case-server.ts";

/** Cases that are not run, each with its reason. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  emb_ok_1024: "no model family with speaker embeddings is served",
  upload_embedding_ok: "no model family with speaker embeddings is served",
};

const http = CASES.filter(({ method }) => method !== "WS" && method !== "UNIT");
const run = http.filter(({ name }) => !Object.hasOwn(LEFT_OUT, name));
const answers = new Map<string, CaseAnswer>();

let house: CaseHouse;
let clips: ClipServer;

beforeAll(async () => {
  [house, clips] = await Promise.all([CaseHouse.open(), ClipServer.start()]);
});

afterAll(async () => {
  clips?.close();
  await house?.close();
});

async function play(wireCase: WireCase): Promise<CaseAnswer> {
  const known = answers.get(wireCase.name);
  if (known !== undefined) return known;
  const server = await house.serve(wireCase, clips.host);
  try {
    const answer = await playHttp({ url: server.url, clips }, wireCase);
    if (wireCase.name === "disconnect_aborts_request") {
      await vi.waitUntil(() => server.fake?.last.wasStopped);
      expect(server.fake?.sessions).toHaveLength(1);
    }
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
  const other = comparedWith(wireCase, CASES);
  if (other !== undefined) await compareAnswers(answer, await play(other), wantedOf(wireCase));
});
