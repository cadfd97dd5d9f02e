/**
 * A network between client and server that can break in silence: what was severed stays open on the server's side, and
 * nothing passes any more in either direction, not even the news that the client is gone.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class BreakableNetwork {
  readonly #server: Server;
  /** Server's ends by the port of the client's. */
  readonly #links = new Map<number, { readonly near: Socket; readonly far: Socket }>();
  readonly #severed = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param port where the server listens */
  static async to(port: number): Promise<BreakableNetwork> {
    const server = createServer();
    const network = new BreakableNetwork(server);
    server.on("connection", (near) => network.#join(near, connect(port, "127.0.0.1")));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return network;
  }

  /** Where clients connect. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Severs the connection whose client's end has this port. Its client is told; its server is not. */
  sever(clientPort: number): void {
    const link = this.#links.get(clientPort);
    if (link === undefined) return;
    this.#links.delete(clientPort);
    const { near, far } = link;
    near.unpipe(far);
    far.unpipe(near);
    far.pause();
    this.#severed.add(far);
    near.destroy();
  }

  /** Ends everything. */
  async close(): Promise<void> {
    for (const { near, far } of this.#links.values()) for (const end of [near, far]) end.destroy();
    for (const far of this.#severed) far.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(near: Socket, far: Socket): void {
    const clientPort = near.remotePort ?? 0;
    this.#links.set(clientPort, { near, far });
    near.pipe(far);
    far.pipe(near);
    const isSevered = () => this.#severed.has(far);
    near
      .on("error", () => {})
      .on("close", () => {
        this.#links.delete(clientPort);
        if (!isSevered()) far.destroy();
      });
    far.on("error", () => {}).on("close", () => near.destroy());
  }
}
