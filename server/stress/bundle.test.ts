/** What a browser gets when it imports the load generator: no schemas and nothing of Node. */
import { join } from "node:path";
import { expect, it } from "vitest";

it("is bundled for browsers without zod and without modules of Node", async () => {
  const { build } = await import("vite");
  const entry = ["run", "output", "compare", "command-line", "texts", "distribution", "types"].map(
    (name) => join(import.meta.dirname, `${name}.ts`),
  );
  const result = await build({
    configFile: false,
    logLevel: "silent",
    build: { write: false, minify: true, lib: { entry, formats: ["es"] } },
  });
  const chunks = [result]
    .flat()
    .flatMap((bundle) => ("output" in bundle ? bundle.output : []))
    .flatMap((file) => (file.type === "chunk" ? [file] : []));
  const modules = chunks.flatMap(({ moduleIds }) => moduleIds);
  expect(modules.some((id) => id.endsWith("/stress/conductor.ts"))).toBe(true);
  const packages = modules.flatMap((id) => /node_modules\/([^/]+)/.exec(id)?.[1] ?? []);
  expect([...new Set(packages)].sort()).toEqual(["hdr-histogram-js"]);
  expect(modules.filter((id) => /^node:|__vite-browser-external/.test(id))).toEqual([]);
  // Pages forbid it.
  expect(chunks.map(({ code }) => code).join("\n")).not.toMatch(/\beval\(|new Function\(/);
  const own = new Set(chunks.map(({ fileName }) => fileName));
  const outside = chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  expect(outside.filter((name) => !own.has(name))).toEqual([]);
}, 60_000);
