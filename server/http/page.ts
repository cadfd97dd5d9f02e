/** The plain page at `/`, which speaks through the API like any other client. Its files are read once, at the start. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";

const FILES = [
  { path: "/", file: "speak.html", type: "text/html; charset=utf-8" },
  { path: "/speak.js", file: "speak.js", type: "text/javascript; charset=utf-8" },
  { path: "/player.js", file: "player.js", type: "text/javascript; charset=utf-8" },
  { path: "/speak.css", file: "speak.css", type: "text/css; charset=utf-8" },
  { path: "/icon.svg", file: "icon.svg", type: "image/svg+xml" },
];

/** @param folder where the page's files are */
export function addPage(app: FastifyInstance, folder: string): void {
  for (const { path, file, type } of FILES) {
    const content = readFileSync(join(folder, file));
    app.get(path, (_request, reply) =>
      reply
        .type(type)
        .header("content-security-policy", "default-src 'self'; frame-ancestors 'none'")
        .send(content),
    );
  }
}
