/**
 * The page's standing connection (socket.io): gauges of the server once a second, and the knowledge whether it is there at
 * all. One connection for the whole page, whatever React mounts.
 */
import { io, type Socket } from "socket.io-client";
import type { PageToServer, ServerToPage } from "../../server/protocol/playground.ts";
import { addTick, useServer } from "../store/server.ts";
import { apiKey } from "./key.ts";

let socket: Socket<ServerToPage, PageToServer> | undefined;

/** Starts watching, once; what it returns is for React's effects and does nothing, since the page goes on watching. */
export function watchServer(): () => void {
  socket ??= connect();
  return () => {};
}

/** Tries again at once, after a key was entered or the network came back. */
export function reconnect(): void {
  socket?.disconnect().connect();
}

function connect(): Socket<ServerToPage, PageToServer> {
  const connection: Socket<ServerToPage, PageToServer> = io({
    transports: ["websocket"],
    reconnectionDelayMax: 5000,
    auth: (give) => give({ key: apiKey() }),
  });
  connection.on("connect", () => {
    connection.emit("watch", { status: true });
    void describe();
  });
  connection.on("status", addTick);
  connection.on("disconnect", () => useServer.setState({ state: "offline" }));
  connection.on("connect_error", () => useServer.setState({ state: "offline" }));
  addEventListener("online", reconnect);
  return connection;
}

async function describe(): Promise<void> {
  const answer = await fetch("/version").catch(() => undefined);
  if (!answer?.ok) return;
  const { device, version } = await answer.json();
  useServer.setState({ device, version });
}
