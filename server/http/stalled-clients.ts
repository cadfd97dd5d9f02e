/**
 * Cuts off clients that do not send their requests or do not read their answers. What was asked for holds a place in the
 * engine as long as it has not been read, and a peer that vanished without a word looks just like that. Sockets that
 * were upgraded are not among them: their doors have rules of their own.
 */
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";

/**
 * Looks at each connection within the limit. They are counted, not timed: when the event loop was held up, what arrived
 * meanwhile has not been seen yet.
 */
const LOOKS = 4;

interface Connection {
  /** The last request that has begun to arrive. */
  request?: IncomingMessage;
  /** Bytes that came in, and bytes that the system has taken. */
  received: number;
  taken: number;
  /** Looks since one of them changed, or since nothing was expected of the client. */
  idleLooks: number;
}

/** Whether it is the client's turn: to send the rest of a request, or to read. */
function isAwaited(socket: Socket, { request }: Connection): boolean {
  const isSending = request !== undefined && !request.complete && !socket.isPaused();
  return isSending || socket.writableLength > 0;
}

/**
 * Ends connections whose client has done nothing for `stallMs` milliseconds though it is its turn. What waits in the
 * system's own buffers counts as read. Stops when the server closes. Headers that do not arrive are Node's affair
 * (`headersTimeout`).
 */
export function cutOffStalledClients(server: Server, stallMs: number): void {
  const connections = new Map<Socket, Connection>();
  server.on("connection", (socket: Socket) => {
    connections.set(socket, { received: 0, taken: 0, idleLooks: 0 });
    socket.once("close", () => connections.delete(socket));
  });
  server.on("request", (request: IncomingMessage) => {
    const connection = connections.get(request.socket);
    if (connection !== undefined) connection.request = request;
  });
  server.on("upgrade", (_request, socket: Socket) => connections.delete(socket));
  const look = () => {
    for (const [socket, connection] of connections) {
      const taken = socket.bytesWritten - socket.writableLength;
      const received = socket.bytesRead;
      const hasMoved = taken !== connection.taken || received !== connection.received;
      if (hasMoved || !isAwaited(socket, connection)) {
        Object.assign(connection, { taken, received, idleLooks: 0 });
      } else if (++connection.idleLooks >= LOOKS) socket.destroy();
    }
  };
  const timer = setInterval(look, stallMs / LOOKS);
  timer.unref();
  server.once("close", () => clearInterval(timer));
}
