/** The runner against a server that does as it is told: what is wrong has to be found, and said. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import type { RobustnessCase, Step, Wanted } from "./case-file.ts";
import { RecipeBook } from "./recipes.ts";
import { caseLines, totalsLine } from "./report.ts";
import { runCase } from "./run.ts";
import { Target } from "./target.ts";

type Route = (response: ServerResponse) => void;

const json = (body: unknown, status = 200): Route => {
  return (response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
};

let server: Server | undefined;
let active = 0;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** A server with what every server says of itself, and the routes of a test. */
async function serve(routes: Readonly<Record<string, Route>>): Promise<Target> {
  active = 0;
  const all: Readonly<Record<string, Route>> = {
    "/v1/audio/speech/limits": json({
      presets: ["clara"],
      default_voice: "clara",
      sample_rate: 8000,
    }),
    "/v1/models": json({ data: [{ id: "m" }] }),
    "/ready": json({ capacity: 4 }),
    "/health": json({}),
    "/metrics": (response) => response.end(`tts_active_requests{model="m"} ${active}\n`),
    ...routes,
  };
  server = createServer((request, response) => {
    request.resume();
    const route = all[request.url ?? ""] ?? json({ detail: "Not Found" }, 404);
    request.on("end", () => route(response));
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return Target.remote(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

const book = new RecipeBook("");
const options = { patience: 1, quick: false, signal: new AbortController().signal };
const get = (path: string, save: string): Step => ({ http: { method: "GET", path }, save });

function wanted(steps: readonly Step[], expected: Wanted, id = "B900"): RobustnessCase {
  const about = { id, name: "made-up", area: "http", kind: "", severity: "low" };
  return { ...about, given: { steps }, expect: { say: "", ...expected } };
}

it.each<[string, Wanted, readonly string[]]>([
  ["what is as expected", { http: { a: { status: [404] } } }, []],
  [
    "a status",
    { http: { a: { status: 200 } } },
    ['GET /nothing : status 404: {"detail":"Not Found"}, and is 404, wanted 200'],
  ],
  ["a reply that never was", { http: { b: { status: 200 } } }, ["no reply b was waited for"]],
  [
    "an error without a message",
    { http: { "*": { json_error: true } } },
    ["GET /nothing : status 404 has no error.message"],
  ],
  [
    "a header",
    { headers: { a: { "content-type": null } } },
    ["header content-type of GET /nothing : status 404 is application/json, wanted null"],
  ],
  [
    "an expectation that nobody knows",
    { weather: { sun: true } },
    ["nothing checks the expectation weather.sun"],
  ],
])("finds %s", async (_, expected, problems) => {
  const target = await serve({});
  const result = await runCase(wanted([get("/nothing", "a")], expected), target, book, options);
  expect(result.problems).toEqual(problems);
  expect(result.status).toBe(problems.length === 0 ? "passed" : "failed");
});

it("finds generations that go on, and answers that break off", async () => {
  const target = await serve({
    "/busy": (response) => {
      active = 1;
      response.end();
    },
    "/cut": (response) => {
      response.writeHead(200, { "content-length": 10 });
      response.write("abc", () => response.destroy());
    },
  });
  const busy = { engine: { active: 0, within_ms: 50 } };
  const going = await runCase(wanted([get("/busy", "a")], busy), target, book, options);
  expect(going.problems).toEqual(["the number of running generations is 1, wanted 0"]);
  const cut = await runCase(wanted([get("/cut", "a")], {}), target, book, options);
  expect(cut.problems).toEqual([expect.stringMatching(/^GET \/cut.* broke off: aborted$/)]);
});

it("finds a server that is not well afterwards", async () => {
  let isWell = true;
  const target = await serve({
    "/break": (response) => {
      isWell = false;
      response.end();
    },
    "/health": (response) => response.writeHead(isWell ? 200 : 503).end(),
  });
  const result = await runCase(wanted([get("/break", "a")], {}), target, book, options);
  expect(result.problems).toEqual(["the server is not healthy any more"]);
});

it.each<[string, Step, RegExp]>([
  [
    "it needs to look into the process",
    { measure: "count of files in the service's temp folder" },
    /leave out --url/,
  ],
  ["it starts servers", { process: "fresh start" }, /leave out --url/],
  [
    "nobody knows what to do",
    { process: "paint it blue" },
    /no rule says how to do "paint it blue"/,
  ],
  ["nobody knows the kind of step", { addon: "x" } as Step, /addon are not driven over the wire/],
])("says why a case is not run: %s", async (_, step, reason) => {
  const result = await runCase(wanted([step], {}), await serve({}), book, options);
  expect(result.status).toBe("not run");
  expect(result.notes.join()).toMatch(reason);
});

it("repeats by number, by list and by value, one after the other or together", async () => {
  const seen: number[] = [];
  const target = await serve({ "/count": (response) => response.end(String(seen.push(1))) });
  const steps: Step[] = [
    { repeat: 3, steps: [get("/count", "a$i")] },
    { repeat: "s in 0.2 0.9", steps: [get("/count", "b$s")] },
    { parallel: [{ repeat: "@slots*2", steps: [get("/count", "c")] }, get("/count", "d")] },
  ];
  const result = await runCase(
    wanted(steps, { http: { a3: { status: 200 }, "b0.9": { status: 200 } } }),
    target,
    book,
    options,
  );
  expect(result.problems).toEqual([]);
  expect(seen).toHaveLength(3 + 2 + 8 + 1);
});

it("ends at once when it is told to", async () => {
  const abort = new AbortController();
  const target = await serve({ "/never": () => abort.abort() });
  const run = runCase(wanted([get("/never", "a")], {}), target, book, {
    ...options,
    signal: abort.signal,
  });
  await expect(run).rejects.toThrow("aborted");
});

it("reports a line for each case and a line of totals", async () => {
  const target = await serve({});
  const good = await runCase(wanted([], {}), target, book, options);
  const bad = await runCase(wanted([], { weather: 1 }, "B901"), target, book, options);
  const skipped = await runCase(wanted([{ ui: "x" } as Step], {}, "B902"), target, book, options);
  const [one, two, three] = [good, bad, skipped].map(caseLines);
  expect(one).toMatch(/^pass {2}B900 made-up {2}\d+\.\d s$/);
  expect(two).toMatch(/^FAIL {2}B901 made-up {2}\d+\.\d s\n {8}nothing checks .*weather/);
  expect(three).toBe("----  B902 made-up\n        not run: it needs a browser");
  expect(totalsLine([good, bad, skipped])).toMatch(/^1 passed, 1 failed, 1 not run, in \d+ s$/);
});
