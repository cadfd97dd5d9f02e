/**
 * Proves the import rules: a tree is made in which every room imports every other, and the checker must refuse exactly
 * the pairs that the table in ARCHITECTURE.md does not allow.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ROOT } from "./lib/root.mjs";

const ALLOWED: Record<string, string[]> = {
  app: ["components"],
  components: ["server/protocol/client", "server/stress"], // and types of server/protocol, which have their own test
  e2e: ["server/protocol", "server/protocol/client"],
  "server/protocol": [],
  "server/protocol/client": ["server/protocol"],
  "server/text": ["server/protocol"],
  "server/models": ["server/text", "server/protocol"],
  "server/engine": ["native/addon", "server/models"],
  "server/speech": [
    "server/engine",
    "server/models",
    "server/text",
    "server/voices",
    "server/audio",
    "server/protocol",
  ],
  "server/audio": ["server/protocol"],
  "server/voices": ["server/audio", "server/engine", "server/models", "server/protocol"],
  "server/house": [
    "server/engine",
    "server/models",
    "server/speech",
    "server/voices",
    "server/config",
    "server/metrics",
    "server/protocol",
  ],
  "server/http": [
    "server/cluster",
    "server/house",
    "server/speech",
    "server/voices",
    "server/audio",
    "server/config",
    "server/metrics",
    "server/protocol",
  ],
  "server/realtime": [
    "server/cluster",
    "server/house",
    "server/http",
    "server/speech",
    "server/voices",
    "server/audio",
    "server/config",
    "server/metrics",
    "server/protocol",
    "server/stress",
    "server/stress/node",
  ],
  "server/stress": ["server/protocol", "server/protocol/client"],
  "server/stress/node": ["server/stress", "server/protocol", "server/protocol/client"],
  "server/cluster": ["server/protocol"],
  "server/metrics": ["server/protocol"],
  "server/config": ["server/protocol"],
  "server/cases": ["server/audio", "server/protocol"],
  "native/addon": [],
};

let tree: string;

beforeEach(() => {
  tree = mkdtempSync(join(tmpdir(), "sonant-imports-"));
});

afterEach(() => {
  rmSync(tree, { recursive: true });
});

function write(file: string, text: string) {
  mkdirSync(dirname(join(tree, file)), { recursive: true });
  writeFileSync(join(tree, file), text);
}

interface Violation {
  from: string;
  to: string;
  rule: { name: string };
}

function check(): Promise<Violation[]> {
  const program = join(ROOT, "node_modules/dependency-cruiser/bin/dependency-cruise.mjs");
  const config = join(ROOT, ".dependency-cruiser.cjs");
  const args = [program, "--config", config, "--output-type", "json", "."];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: tree, maxBuffer: 1 << 26 }, (error, stdout) => {
      if (stdout === "") reject(error);
      else resolve(JSON.parse(stdout).summary.violations);
    });
  });
}

it("refuses every import between rooms that the table does not allow", async () => {
  const rooms = Object.keys(ALLOWED);
  for (const room of rooms) {
    write(`${room}/index.ts`, "export const value = 1;\n");
    for (const other of rooms.filter((name) => name !== room)) {
      const up = room
        .split("/")
        .map(() => "..")
        .join("/");
      const file = `${room}/uses-${other.replaceAll("/", "-")}.ts`;
      write(file, `import { value } from "${up}/${other}/index.ts";\nconsole.log(value);\n`);
    }
  }
  const refused = new Set(
    (await check()).map(({ from, to }) => `${dirname(from)} -> ${dirname(to)}`),
  );
  const expected = rooms.flatMap((room) =>
    rooms
      .filter((other) => other !== room && !ALLOWED[room]?.includes(other))
      .map((other) => `${room} -> ${other}`),
  );
  expect([...refused].sort()).toEqual(expected.sort());
}, 60_000);

it("lets components import types of the protocol, main.ts and the command line everything, and tests the client", async () => {
  write("server/protocol/index.ts", "export interface Message { text: string }\n");
  write("server/protocol/client/index.ts", "export const client = 1;\n");
  const useClient = 'import { client } from "../protocol/client/index.ts";\nconsole.log(client);\n';
  for (const file of ["server/cli/load.ts", "server/http/a.test.ts", "server/http/test-a.ts"]) {
    write(file, useClient);
  }
  write("server/engine/index.ts", "export const engine = 1;\n");
  const use = 'import { engine } from "PATH";\nconsole.log(engine);\n';
  write("server/main.ts", use.replace("PATH", "./engine/index.ts"));
  write("server/cli/say.ts", use.replace("PATH", "../engine/index.ts"));
  write(
    "components/a.ts",
    'import type { Message } from "../server/protocol/index.ts";\nexport type M = Message;\n',
  );
  expect(await check()).toEqual([]);
}, 60_000);

it("lets tests of any room drive case files, and nothing else of a room", async () => {
  write("server/cases/index.ts", "export const cases = 1;\n");
  const use = 'import { cases } from "../cases/index.ts";\nconsole.log(cases);\n';
  write("server/http/cases.int.test.ts", use);
  write("server/http/server.ts", use);
  const refused = (await check()).map(({ from, rule }) => `${from}: ${rule.name}`);
  expect(refused).toEqual(["server/http/server.ts: server-http-imports"]);
}, 60_000);

it("refuses cycles, impure protocol files and rooms without a line in the table", async () => {
  write("server/text/a.ts", 'import { b } from "./b.ts";\nexport const a = () => b;\n');
  write("server/text/b.ts", 'import { a } from "./a.ts";\nexport const b = () => a;\n');
  write("server/protocol/io.ts", 'import { readFileSync } from "node:fs";\nreadFileSync("x");\n');
  write("server/attic/x.ts", 'import { a } from "../text/a.ts";\nconsole.log(a);\n');
  const rules = new Set((await check()).map(({ rule }) => rule.name));
  expect([...rules].sort()).toEqual(["no-cycles", "protocol-pure", "unlisted-room"]);
}, 60_000);
