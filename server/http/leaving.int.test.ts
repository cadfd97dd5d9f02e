/** Clients that leave at any moment, against the shipped model: afterwards the engine holds nothing of theirs. */
import { afterAll, beforeAll, it, vi } from "vitest";
import type { WireCase } from "../protocol/test-cases.ts";
import { CaseHouse, type CaseServer } from "./test-case-server.ts";

const INPUT = "The ferry leaves at nine, and the next one leaves at noon. ".repeat(20);

let house: CaseHouse;
let server: CaseServer;

beforeAll(async () => {
  house = await CaseHouse.open();
  server = await house.serve({ server: "nano_x", name: "leaving" } as WireCase, "");
});

afterAll(async () => {
  await server?.close();
  await house?.close();
});

/** Leaves when `bytes` have come; before the first one if that is 0. */
async function visit(bytes: number, body: object): Promise<void> {
  const leave = new AbortController();
  const answer = fetch(`${server.url}/v1/audio/speech`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: INPUT, ...body }),
    signal: leave.signal,
  });
  if (bytes === 0) {
    await vi.waitUntil(() => server.service.load.active + server.service.load.waiting > 0);
  } else {
    const reader = (await answer).body?.getReader();
    for (let seen = 0; seen < bytes; ) seen += (await reader?.read())?.value?.length ?? bytes;
  }
  leave.abort();
  await answer.catch(() => {});
}

const isEmpty = () => {
  const { active, waiting } = server.service.load;
  return active === 0 && waiting === 0 && house.engineLive === 0;
};

it.each([
  ["in front of the first byte of a stream", 0, { stream: true, response_format: "pcm" }],
  ["in the middle of a stream", 30_000, { stream: true, response_format: "pcm" }],
  ["in the middle of an encoded stream", 2000, { stream: true, response_format: "mp3" }],
  ["in the middle of events", 30_000, { stream_format: "sse", response_format: "pcm" }],
  ["while a whole file is made", 0, { response_format: "wav" }],
])("%s", async (_, bytes, body) => {
  await visit(bytes, body);
  await vi.waitUntil(isEmpty, { timeout: 30_000 });
});

it("together, at different moments", async () => {
  const visits = Array.from({ length: 24 }, (_, index) =>
    visit(1 + 3500 * index, { stream: true, response_format: "pcm", seed: index }),
  );
  await Promise.all(visits);
  await vi.waitUntil(isEmpty, { timeout: 30_000 });
});
