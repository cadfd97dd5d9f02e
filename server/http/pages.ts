/**
 * The playground's pages: Next renders them inside this server, on this server's port. Owns which requests go to Next and
 * which headers its answers carry; knows nothing of what the pages show.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** Answers a request for a page or for one of its files. */
export type PageHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface Pages {
  readonly handle: PageHandler;
  close(): Promise<void>;
}

/** The pages have not been built from this checkout. */
export class PagesMissing extends Error {
  override readonly name = "PagesMissing";

  constructor() {
    super(
      "The playground's pages are not built: start with `npm start`, or run `npm run build`, or leave them out with --no-ui.",
    );
  }
}

/**
 * Loads the built pages.
 * @param root the repository's folder, where `.next` lies
 * @throws PagesMissing
 */
export async function openPages(root: string): Promise<Pages> {
  if (!existsSync(join(root, ".next/BUILD_ID"))) throw new PagesMissing();
  const { default: next } = await import("next");
  // Next would listen for socket upgrades on the server that it sees; those are the speech sockets' affair, so it is
  // given a server that never listens.
  const app = next({ dir: root, dev: false, httpServer: createServer() });
  await app.prepare();
  const handle = app.getRequestHandler();
  return { handle: (request, response) => handle(request, response), close: () => app.close() };
}

/**
 * Everything that no other route takes: pages and their files go to Next, the rest (paths of the API, and whatever does
 * not ask for a page) gets the router's plain answer.
 */
export function addPages(app: FastifyInstance, handle: PageHandler): void {
  app.get("/*", (request, reply) => {
    if (!isForPages(request)) return reply.callNotFound();
    return show(request, reply, handle);
  });
}

const FILES = /^\/(_next|worklets|samples)\/|^\/[\w-]+\.(svg|ico|webmanifest|txt)$/;
const API = /^\/v1(?![\w-])/;

function isForPages({ url, headers }: FastifyRequest): boolean {
  const path = url.split("?", 1)[0] ?? "";
  if (API.test(path)) return false;
  const { accept = "", rsc } = headers;
  return path === "/" || FILES.test(path) || rsc !== undefined || accept.includes("text/html");
}

async function show(request: FastifyRequest, reply: FastifyReply, handle: PageHandler) {
  reply.hijack();
  const nonce = randomBytes(16).toString("base64");
  const policy = contentPolicy(nonce);
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  reply.raw.setHeader("content-security-policy", policy);
  // Next takes the nonce for its own inline scripts from this header of the request, as if a proxy had set it.
  request.raw.headers["content-security-policy"] = policy;
  request.raw.headers["x-nonce"] = nonce;
  try {
    await handle(request.raw, reply.raw);
  } catch (error) {
    request.log.error({ err: error }, "page failed");
    if (!reply.raw.headersSent) reply.raw.writeHead(500);
    reply.raw.end();
  }
}

/** Scripts only from here or with the nonce; styles may be inline, since libraries position things with them. */
function contentPolicy(nonce: string): string {
  return [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "connect-src 'self' ws: wss: blob:",
    "worker-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}
