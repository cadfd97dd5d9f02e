/** What a browser gets when it imports the package: no schemas, nothing of Node, and not much at all. */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

/** Bytes of the package when it is bundled, minified and compressed; it is meant to stay small. */
const MAX_COMPRESSED = 16 * 1024;

it("is bundled for browsers without zod and without modules of Node", async () => {
  const { build } = await import("vite");
  const entry = join(import.meta.dirname, "index.ts");
  const result = await build({
    configFile: false,
    logLevel: "silent",
    build: { write: false, minify: true, lib: { entry, formats: ["es"] } },
  });
  const [bundle] = [result].flat();
  if (bundle === undefined || !("output" in bundle)) throw new Error("There is no bundle.");
  const chunks = bundle.output.flatMap((file) => (file.type === "chunk" ? [file] : []));
  const modules = chunks.flatMap(({ moduleIds }) => moduleIds);
  expect(modules.some((id) => id.endsWith("/client/socket.ts"))).toBe(true);
  expect(modules.filter((id) => /node_modules|^node:|__vite-browser-external/.test(id))).toEqual(
    [],
  );
  expect(chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])).toEqual(
    [],
  );
  const code = chunks.map((chunk) => chunk.code).join("\n");
  expect(gzipSync(code).length).toBeLessThan(MAX_COMPRESSED);
}, 60_000);
