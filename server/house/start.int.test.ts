/** A server that is told of a folder and nothing else: what it says, what else it offers, and that it comes when asked for. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import type { ModelList } from "../protocol/documents.ts";
import { type TestFolders, testFolders } from "./test-house-models.ts";

const ROOT = join(import.meta.dirname, "../..");

let folders: TestFolders;
let child: ChildProcess | undefined;
beforeAll(() => {
  folders = testFolders();
});
afterEach(() => child?.kill("SIGKILL"));
afterAll(() => folders.remove());

it("begins with the model that is named, and has the starter beside it without another step", async () => {
  const lines: string[] = [];
  const { PORT: _, HOST: __, ...environment } = process.env;
  const given = { SONANT_VOICES_DIR: folders.voices, SONANT_DEVICE: "cpu", SONANT_API_KEY: "" };
  child = spawn(
    process.execPath,
    ["--import", "tsx", "server/main.ts", "--port", "0", "--no-ui", "--model", folders.second],
    { cwd: ROOT, env: { ...environment, ...given }, stdio: ["ignore", "pipe", "inherit"] },
  );
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) =>
    lines.push(line),
  );
  const offer =
    'Sonant starter is here as well, and loaded when asked for: "model": "sonant-starter"';
  await vi.waitUntil(() => lines.includes(offer), { timeout: 60_000, interval: 50 });
  const url = lines.map((line) => /^Second speaks at (http:\S+) \(/.exec(line)?.[1]).find(Boolean);
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as ModelList;
  expect(data[0]).toMatchObject({ id: "second", sonant: { is_default: true, state: "ready" } });
  const answer = await fetch(`${url}/v1/audio/speech`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "sonant-starter", input: "Hello.", voice: "clara" }),
  });
  expect(answer.status).toBe(200);
  expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(10_000);
  child.kill("SIGTERM");
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
});
