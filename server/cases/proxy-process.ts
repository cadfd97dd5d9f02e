/** nginx as it is deployed, in front of servers of a test's own. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { HelperProcess, isInstalled } from "./helper-process.ts";

const CONFIGURATION = join(import.meta.dirname, "../../deploy/nginx/sonant.conf");
const LISTEN = /listen 8080;/g;
const SERVER = /\bsonant-(\d+):8091\b/g;

/** Why tests that need it are skipped here; undefined if they are not. */
export const PROXY_MISSING = isInstalled("nginx") ? undefined : "nginx is not installed";

/**
 * Starts it with deploy/nginx/sonant.conf.
 * @param ports of the servers, as many as the file names
 */
export async function startProxy(ports: readonly number[]): Promise<HelperProcess> {
  const port = await freePort();
  const site = (await readFile(CONFIGURATION, "utf8"))
    .replace(LISTEN, `listen 127.0.0.1:${port};`)
    .replace(SERVER, (_, number: string) => `127.0.0.1:${ports[Number(number) - 1]}`);
  const outer = `
    ${process.getuid?.() === 0 ? "user root;" : ""}
    master_process off;
    daemon off;
    pid nginx.pid;
    error_log stderr error;
    events {}
    http {
      access_log off;
      ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${name};`).join("\n")}
      include site.conf;
    }`;
  const written = (folder: string) => ["-p", folder, "-c", "nginx.conf", "-e", "stderr"];
  return HelperProcess.start("nginx", port, written, {
    "nginx.conf": outer,
    "site.conf": site,
  });
}
