/**
 * An object service in this process (s3rver), over a temporary folder, with one bucket. It is S3 as far as voices need it,
 * but for two things: it has no conditional writes, and it cannot list more than a thousand objects.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "s3rver";

const BUCKET = "sonant";
/** The only key pair that it knows. */
const CREDENTIALS = { AWS_ACCESS_KEY_ID: "S3RVER", AWS_SECRET_ACCESS_KEY: "S3RVER" };

export class ObjectService {
  readonly bucket = BUCKET;
  /** Variables of the environment with which its clients find their key. */
  readonly environment = CREDENTIALS;
  #server: S3rver;
  #port: number;

  private constructor(
    private readonly folder: string,
    server: S3rver,
    port: number,
  ) {
    this.#server = server;
    this.#port = port;
  }

  static async start(): Promise<ObjectService> {
    const folder = await mkdtemp(join(tmpdir(), "sonant-objects-"));
    const server = serve(folder, 0);
    return new ObjectService(folder, server, (await server.run()).port);
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Goes away and keeps what it has. */
  async stop(): Promise<void> {
    this.#server.httpServer.closeAllConnections();
    await this.#server.close();
  }

  /** Comes back at the same address. */
  async restart(): Promise<void> {
    this.#server = serve(this.folder, this.#port);
    await this.#server.run();
  }

  /** Ends it and removes what it kept. */
  async close(): Promise<void> {
    if (this.#server.httpServer.listening) await this.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

function serve(directory: string, port: number): S3rver {
  const configureBuckets = [{ name: BUCKET }];
  return new S3rver({ address: "127.0.0.1", port, silent: true, directory, configureBuckets });
}
