/** A server for tests of worker processes: answers speech requests with pcm after a moment, and says who it is. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface TestSpeechServer {
  readonly url: string;
  /** Bodies of speech requests, and the headers that they came with. */
  readonly requests: { readonly body: Record<string, unknown>; readonly headers: object }[];
  /** Requests under way, at most. */
  readonly most: () => number;
  close(): Promise<void>;
}

/** @param delayMs of the sound after a request; each answer is 200 ms of silence at 8 kHz */
export async function openSpeechServer(delayMs: number): Promise<TestSpeechServer> {
  const requests: { body: Record<string, unknown>; headers: object }[] = [];
  let running = 0;
  let most = 0;
  const server = createServer(async (request, response) => {
    if (request.url === "/version") {
      const version = { version: "1.2.3", model: "m", device: "cpu", config_sha256: "ab" };
      response.setHeader("content-type", "application/json").end(JSON.stringify(version));
      return;
    }
    if (request.method !== "POST") {
      response.writeHead(404).end();
      return;
    }
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    requests.push({ body: JSON.parse(Buffer.concat(parts).toString()), headers: request.headers });
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    running -= 1;
    response.writeHead(200, {
      "content-type": "audio/pcm; rate=8000; channels=1",
      "x-sample-rate": "8000",
      "x-channels": "1",
    });
    response.end(Buffer.alloc(3200));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    most: () => most,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
