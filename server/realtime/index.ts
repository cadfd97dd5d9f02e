/**
 * The realtime doors on the HTTP server: the speech socket for programs, and socket.io for the playground. Decides who
 * may connect; what is said afterwards is each door's own affair.
 */
import { type Server as HttpServer, type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { requestId } from "../http/requests.ts";
import { ApiError, toApiError } from "../protocol/envelope.ts";
import { toJson } from "../protocol/json.ts";
import { KEY_SUBPROTOCOL, SOCKET_PATHS, SUBPROTOCOL } from "../protocol/socket-address.ts";
import { Connection } from "./connection.ts";
import type { RealtimeDeps } from "./deps.ts";
import { attachPlayground, PAGE_PATH } from "./playground.ts";
import { SessionShelf } from "./shelf.ts";

export interface Realtime {
  /** Refuses new connections, tells the open ones to leave, and waits for them. */
  close(): Promise<void>;
}

const GOING_AWAY = 1001;
/** How long clients have for their part of the farewell. */
const PATIENCE_MS = 2000;
/** Pings without an answer after which a socket is given up. */
const MISSED_BEATS = 2;
/** What a client is told to wait, in seconds, where nobody knows better. */
const RETRY_AFTER_S = 2;

/** Who opens the sockets of this server's own load test, in place of an address. */
const OWN_LOAD = "own load test";

/** Whether a page of this origin may open a socket; programs send no origin. */
function allowsOrigin(request: IncomingMessage, allowed: readonly string[]): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined || allowed.includes("*") || allowed.includes(origin)) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}

function clientOf(request: IncomingMessage, trustProxy: boolean): string {
  const forwarded = trustProxy ? request.headers["x-forwarded-for"] : undefined;
  const first = (Array.isArray(forwarded) ? forwarded[0] : forwarded)?.split(",", 1)[0]?.trim();
  return first || (request.socket.remoteAddress ?? "unknown");
}

/**
 * What stands for an Authorization header: the header itself, or the key that a page, which can set none, sends as a
 * subprotocol.
 */
function authorizationOf({ headers }: IncomingMessage): string | undefined {
  if (headers.authorization !== undefined) return headers.authorization;
  const offered = headers["sec-websocket-protocol"]?.split(",").map((name) => name.trim());
  const key = offered?.find((name) => name.startsWith(KEY_SUBPROTOCOL));
  if (key === undefined) return undefined;
  return `Bearer ${Buffer.from(key.slice(KEY_SUBPROTOCOL.length), "base64url").toString("utf8")}`;
}

/** Answers a handshake with an HTTP error, the only language it speaks yet. */
function refuse(socket: Duplex, error: ApiError): void {
  const { status, code, details } = error;
  const body = toJson(code === "unauthorized" ? { error: "Unauthorized" } : error.envelope());
  const isTemporary = status === 429 || status === 503;
  socket.on("error", () => {}); // the client may be gone already
  socket.once("finish", () => socket.destroy());
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      "Content-Type: application/json; charset=utf-8",
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...(code === "unauthorized" ? ["WWW-Authenticate: Bearer"] : []),
      ...(isTemporary ? [`Retry-After: ${details.retryAfterSeconds ?? RETRY_AFTER_S}`] : []),
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );
}

/** Opens the doors; the caller closes them before the HTTP server. */
export function attachRealtime(server: HttpServer, deps: RealtimeDeps): Realtime {
  const { config, access, models, metrics } = deps;
  const shelf = new SessionShelf(config.sockets.resumeTtlMs, config.sockets.maxSessions);
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: config.limits.ws_frame_bytes,
    perMessageDeflate: false, // audio does not compress, and it would cost time
    // Never the key, which would come back in the answer.
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });
  const perClient = new Map<string, number>();
  const arrive = (request: IncomingMessage) => {
    if (!allowsOrigin(request, config.server.corsOrigins)) throw new ApiError("forbidden_origin");
  };
  const enter = async (
    request: IncomingMessage,
    authorization: string | undefined,
  ): Promise<string> => {
    const client = clientOf(request, config.server.trustProxy);
    if (!access.opens(authorization)) throw new ApiError("unauthorized");
    await access.count(authorization, client);
    return client;
  };
  // Pages may watch a server that does not serve yet, or no longer does.
  const playground = attachPlayground(server, deps, {
    arrive,
    enter: async (request, key) => {
      await enter(request, request.headers.authorization ?? (key && `Bearer ${key}`));
    },
  });

  const admitSession = async (request: IncomingMessage): Promise<string> => {
    arrive(request);
    const client = await enter(request, authorizationOf(request));
    if (models.state.stage === "draining") throw new ApiError("shutting_down");
    if (models.state.stage !== "ready") throw new ApiError("warming_up");
    const full = sockets.clients.size >= config.sockets.maxSessions;
    if (full) throw new ApiError("too_many_sessions");
    // A load test has limits of its own, and must not use up those of others who share its address.
    if (playground.stress.isOwnLoad(request)) return OWN_LOAD;
    if ((perClient.get(client) ?? 0) >= config.sockets.maxSessionsPerClient) {
      throw new ApiError("too_many_sessions");
    }
    return client;
  };

  // Connections of both doors; the HTTP server does not count them among its own.
  const upgraded = new Set<Duplex>();
  const onUpgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    if (!(SOCKET_PATHS as readonly string[]).includes(path)) {
      if (!path.startsWith(PAGE_PATH)) refuse(socket, new ApiError("route_reserved"));
      return;
    }
    const handshake = { requestId: requestId(request) };
    let client: string;
    // The client may leave while it is looked whether it may come in.
    const ignore = () => {};
    socket.on("error", ignore);
    try {
      client = await admitSession(request);
    } catch (error) {
      const reason = toApiError(error);
      metrics.rejected(reason.code);
      const ip = clientOf(request, config.server.trustProxy);
      deps.logger?.info({ ...handshake, ip, reason: reason.code }, "socket refused");
      refuse(socket, reason);
      return;
    }
    socket.off("error", ignore);
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      perClient.set(client, (perClient.get(client) ?? 0) + 1);
      metrics.sessionOpened();
      accepted.on("close", () => {
        metrics.sessionClosed();
        const left = (perClient.get(client) ?? 1) - 1;
        if (left > 0) perClient.set(client, left);
        else perClient.delete(client);
      });
      const dialect = accepted.protocol === SUBPROTOCOL ? 2 : 1;
      new Connection(accepted, deps, shelf, { dialect, ...handshake, ip: client });
    });
  };
  server.on("upgrade", onUpgrade);

  // A connection that misses two beats is gone, whatever the network believes. One is no proof: a ping waits behind all
  // the audio that its client has yet to read.
  const missed = new WeakMap<object, number>();
  const heartbeat = setInterval(() => {
    for (const socket of sockets.clients) {
      const beats = missed.get(socket);
      if (beats === undefined) socket.on("pong", () => missed.set(socket, 0));
      if (beats === MISSED_BEATS) socket.terminate();
      else {
        missed.set(socket, (beats ?? 0) + 1);
        socket.ping();
      }
    }
  }, config.sockets.heartbeatMs);
  heartbeat.unref();

  return {
    async close() {
      server.off("upgrade", onUpgrade);
      clearInterval(heartbeat);
      await playground.close();
      for (const socket of sockets.clients) socket.close(GOING_AWAY, "The server is shutting down");
      const gone = [...upgraded].map(
        (socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())),
      );
      const patience = setTimeout(() => {
        for (const socket of upgraded) socket.destroy();
      }, PATIENCE_MS);
      await Promise.all(gone);
      clearTimeout(patience);
      await shelf.close();
      sockets.close();
    },
  };
}
