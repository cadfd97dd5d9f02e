import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, it } from "vitest";
import { packageFolders, trace } from "./closure.mjs";
import { ROOT } from "./root.mjs";

const { files, packages } = trace(["server/main.ts"]);

it("finds what is imported, and what is only named: workers and WebAssembly", () => {
  expect([...files]).toEqual(
    expect.arrayContaining(["server/engine/native.ts", "server/audio/codec-worker.mjs"]),
  );
  expect([...packages]).toEqual(
    expect.arrayContaining(["fastify", "@evan/opus", "ogg-opus-decoder"]),
  );
});

it("leaves out tests, their packages, and modules of Node", () => {
  expect([...files].filter((file) => /test/.test(file))).toEqual([]);
  expect(packages).not.toContain("vitest");
  expect([...packages].filter((name) => name.startsWith("node"))).toEqual([]);
});

it("follows packages to all that they depend on, with the program that compiles TypeScript", () => {
  const folders = [...packageFolders(["tsx", "socket.io"])];
  const names = folders.map((folder) => relative(ROOT, folder));
  expect(names).toEqual(expect.arrayContaining(["node_modules/engine.io", "node_modules/esbuild"]));
  expect(folders.some((folder) => existsSync(join(folder, "bin/esbuild")))).toBe(true);
  expect(names.some((name) => name.startsWith("node_modules/@esbuild/"))).toBe(true);
});
