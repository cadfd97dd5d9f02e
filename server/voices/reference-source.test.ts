import { once } from "node:events";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { ReferenceSource } from "./reference-source.ts";
import { dataUrl, recording, temporaryFolder } from "./test-voices.ts";

const bytes = recording(1);
const base64 = Buffer.from(bytes).toString("base64");

async function read(source: ReferenceSource, reference: string): Promise<Uint8Array> {
  const content = await source.read(reference);
  return content.kind === "audio" ? content.bytes : expect.unreachable("a prompt");
}

describe("ReferenceSource", () => {
  it("reads data URLs and raw base64", async () => {
    const source = new ReferenceSource();
    for (const reference of [dataUrl(bytes), `DATA:;x=1;BASE64,${base64}`, base64]) {
      expect(Buffer.from(bytes).equals(await read(source, reference))).toBe(true);
    }
  });

  it("hands ids of prompts on", async () => {
    expect(await new ReferenceSource().read("vp_12ab")).toEqual({ kind: "prompt", id: "vp_12ab" });
  });

  it.each([
    "",
    "not_a_valid_uri",
    "ftp://example.com/a.wav",
    "data:audio/wav;base64",
    "data:audio/wav;base64,???",
    Buffer.from("this is not audio, but it is base64").toString("base64"),
    `${base64}=`,
    "file:///etc/hostname",
    "http://127.0.0.1/a.wav",
  ])("refuses %.60j", async (reference) => {
    const reading = new ReferenceSource().read(reference);
    await expect(reading).rejects.toMatchObject({
      message: expect.stringContaining("ref_audio"),
      details: { param: "ref_audio" },
      status: 400,
    });
  });

  it("limits what comes inside a request", async () => {
    const source = new ReferenceSource({ inlineBytes: bytes.length - 1 });
    await expect(source.read(dataUrl(bytes))).rejects.toMatchObject({ code: "invalid_reference" });
  });

  it("fetches addresses", async () => {
    const server = createServer((_, response) => response.end(bytes));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const source = new ReferenceSource({ fetch: { trustedHosts: [`127.0.0.1:${port}`] } });
    expect(await read(source, `HTTP://127.0.0.1:${port}/`)).toHaveLength(bytes.length);
    server.close();
  });

  it("reads files below the operator's folder and no others, telling nothing about them", async () => {
    await using folder = await temporaryFolder();
    const root = join(folder.path, "inside");
    await mkdir(join(root, "sub"), { recursive: true });
    await writeFile(join(root, "a.wav"), bytes);
    await writeFile(join(folder.path, "secret"), bytes);
    await symlink(join(folder.path, "secret"), join(root, "link"));
    const source = new ReferenceSource({ localFolder: root });
    const url = (name: string) => pathToFileURL(join(root, name)).href;
    expect(await read(source, url("a.wav"))).toHaveLength(bytes.length);
    const messages = new Set<string>();
    for (const name of ["../secret", "link", "missing", "sub", "."]) {
      const error = await source.read(url(name)).catch((thrown) => thrown);
      expect(error).toMatchObject({ code: "reference_unreachable" });
      messages.add(error.message);
    }
    expect(messages.size).toBe(1);
  });

  it("does nothing for a caller who has gone", async () => {
    const reason = new Error("gone");
    await expect(new ReferenceSource().read(base64, AbortSignal.abort(reason))).rejects.toBe(
      reason,
    );
  });
});
