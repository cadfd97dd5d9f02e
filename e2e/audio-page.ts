/**
 * A page with the browser's audio layer and nothing else: the real modules of components/audio and the real worklets,
 * served by themselves under the policy that the product's pages have.
 */
import { readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join, normalize } from "node:path";
import ts from "typescript";

const ROOT = join(import.meta.dirname, "..");
const FOLDERS: Readonly<Record<string, string>> = {
  audio: "components/audio",
  worklets: "public/worklets",
  driver: "e2e/fixtures",
};
const POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; media-src blob:";
const PAGE = `<!doctype html><title>Audio</title><button id="tap">Tap</button>
<script type="module" src="/driver/audio-driver.js"></script>`;

export interface AudioPage {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves the page on a free port of this machine. */
export async function serveAudioPage(): Promise<AudioPage> {
  const server = createServer((request, response) => {
    answer(request.url ?? "/", response).catch(() => response.writeHead(404).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

async function answer(path: string, response: ServerResponse): Promise<void> {
  if (path === "/") {
    const headers = { "content-type": "text/html", "content-security-policy": POLICY };
    response.writeHead(200, headers).end(PAGE);
    return;
  }
  const [, folder = "", name = ""] = path.split("/");
  const source = FOLDERS[folder];
  if (source === undefined) throw new Error(`No folder ${folder}`);
  const text = await readFile(join(ROOT, source, normalize(name)), "utf8");
  response.writeHead(200, { "content-type": "text/javascript" });
  response.end(name.endsWith(".ts") ? asJavaScript(text) : text);
}

function asJavaScript(text: string): string {
  const { ES2022 } = ts.ScriptTarget;
  const compilerOptions = { target: ES2022, module: ts.ModuleKind.ESNext };
  return ts.transpileModule(text, { compilerOptions }).outputText;
}
