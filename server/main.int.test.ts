/** The server as an operator runs it: how it starts, what it says of mistakes, and how it ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const LONG = "The ferry leaves at nine, and the next one leaves at noon. ".repeat(3);

let folder: string;
let child: ChildProcess | undefined;
let lines: string[];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sonant-main-"));
});

afterEach(() => {
  child?.kill("SIGKILL");
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(...args: string[]): ChildProcess {
  lines = [];
  child = spawn(process.execPath, ["--import", "tsx", "server/main.ts", ...args], {
    cwd: ROOT,
    env: { ...process.env, SONANT_VOICES_DIR: folder, SONANT_API_KEY: "secret-key" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on("line", (line) => lines.push(line));
  }
  return child;
}

/** Waits for the line with the address. */
async function address(): Promise<string> {
  const found = () => lines.map((line) => /speaks at (http:\S+)/.exec(line)?.[1]).find(Boolean);
  return (await vi.waitUntil(found, { timeout: 60_000, interval: 50 })) as string;
}

function speak(url: string, input: string): Promise<Response> {
  return fetch(`${url}/v1/audio/speech`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer secret-key" },
    body: JSON.stringify({ input, stream: true, response_format: "pcm", seed: 1 }),
  });
}

it("prints its configuration without its secrets, drains on SIGTERM, and ends well", async () => {
  // Far longer than the test may take: the server ends because everybody has been served.
  const config = join(folder, "deploy.yaml");
  const deploy = {
    model: join(ROOT, "native/models/starter"),
    served_model_names: ["starter"],
    server: { drain_timeout_s: 3600 },
  };
  writeFileSync(config, JSON.stringify(deploy));
  const server = run("--port", "0", "--no-ui", "--config", config);
  const url = await address();
  const printed = lines.find((line) => line.includes('"msg":"configuration"')) ?? "{}";
  expect(JSON.parse(printed).sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(lines.join("\n")).not.toContain("secret-key");
  const health = await fetch(`${url}/health`);
  expect(health.status).toBe(200);
  // "auto" has become what was taken, on any machine.
  const { device } = (await health.json()) as { device: string };
  expect(["cpu", "cuda:0"]).toContain(device);
  expect(lines.join("\n")).toContain(`The engine is ready on ${device.split(":")[0]}: `);
  // So has the number of those who are spoken to at once: what was measured, up to what suits the device.
  const { capacity } = (await (await fetch(`${url}/ready`)).json()) as { capacity: number };
  expect(capacity).toBeGreaterThan(0);
  expect(capacity).toBeLessThanOrEqual(device === "cpu" ? 32 : 512);
  expect((await fetch(url)).status).toBe(404);

  const answer = await speak(url, LONG);
  server.kill("SIGTERM");
  await vi.waitUntil(() => lines.some((line) => line.includes("shutting down")));
  const refused = await speak(url, "Too late.");
  expect(refused.status).toBe(503);
  expect(refused.headers.has("retry-after")).toBe(true);
  expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(5 * 48_000);
  const [code] = await once(server, "exit");
  expect(code).toBe(0);
});

it("stops at once on a second signal", async () => {
  const server = run("--port", "0", "--no-ui");
  const answer = await speak(await address(), LONG.repeat(40));
  server.kill("SIGTERM");
  await vi.waitUntil(() => lines.some((line) => line.includes("shutting down")));
  // Signals that follow closely count as one.
  await new Promise((resolve) => setTimeout(resolve, 700));
  server.kill("SIGTERM");
  const [code] = await once(server, "exit");
  expect(code).toBe(1);
  await expect(answer.arrayBuffer()).rejects.toThrow();
});

it.each([
  [["--prot", "1"], "Usage: npm start"],
  [["--port", "http"], "'http' is not a number"],
  [["--config", "missing.yaml"], "no such file"],
  [["--model", "missing"], "missing"],
])("explains mistakes: %s", async (args, sentence) => {
  const [code] = await once(run(...args), "exit");
  expect(code).toBe(1);
  await vi.waitUntil(() => lines.join("\n").includes(sentence));
  expect(lines.join("\n")).not.toContain("    at ");
});
