/** A Redis of a test's own, which keeps nothing. */
import { freePort } from "./free-port.ts";
import { HelperProcess, isInstalled } from "./helper-process.ts";

/** Why tests that need one are skipped here; undefined if they are not. */
export const REDIS_MISSING = isInstalled("redis-server")
  ? undefined
  : "redis-server is not installed";

export async function startRedis(): Promise<HelperProcess> {
  const port = await freePort();
  return HelperProcess.start("redis-server", port, (folder) => [
    ...["--port", String(port), "--bind", "127.0.0.1", "--dir", folder],
    ...["--save", "", "--appendonly", "no"],
  ]);
}
