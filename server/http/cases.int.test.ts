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
/** A case that waits ten seconds for a clip that never comes: it begins first, and the others are run meanwhile. */
const SLOW = "ref_url_slow";
const answers = new Map<string, Promise<CaseAnswer>>();

let house: CaseHouse;
let clips: ClipServer;

beforeAll(async () => {
  [house, clips] = await Promise.all([CaseHouse.open(), ClipServer.start()]);
  for (const wireCase of run.filter(({ name }) => name === SLOW)) {
    void play(wireCase);
  }
});

afterAll(async () => {
  clips?.close();
  await house?.close();
});

function play(wireCase: WireCase): Promise<CaseAnswer> {
  const { name } = wireCase;
  const known = answers.get(name);
  if (known !== undefined) return known;
  const answer = playAnew(wireCase);
  answers.set(name, answer);
  // A test that is tried again asks again.
  answer.catch(() => answers.delete(name));
  return answer;
}

async function playAnew(wireCase: WireCase): Promise<CaseAnswer> {
  const server = await house.serve(wireCase, clips.host);
  try {
    const answer = await playHttp({ url: server.url, clips }, wireCase);
    if (wireCase.name === "disconnect_aborts_request") {
      await vi.waitUntil(() => server.fake?.last.wasStopped);
      expect(server.fake?.sessions).toHaveLength(1);
    }
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
