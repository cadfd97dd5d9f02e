/**
 * The page's standing connection (socket.io): gauges of the server once a second, and the knowledge whether it is there at
 * all. One connection for the whole page, whatever React mounts.
 */
import { io, type Socket } from "socket.io-client";
import type { Version } from "../../server/protocol/documents.ts";
import type { PageToServer, ServerToPage, StatusTick } from "../../server/protocol/playground.ts";
import { loadModels, useModels } from "../store/models.ts";
import { addTick, useServer } from "../store/server.ts";
import { loadVoices, useVoices } from "../store/voices.ts";
import { apiKey, askForKey } from "./key.ts";

/** A refusal that is no failure of the network is not tried again by the library. */
const RETRY_MS = 5000;

let socket: Socket<ServerToPage, PageToServer> | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;

/** Starts watching, once; what it returns is for React's effects and does nothing, since the page goes on watching. */
export function watchServer(): () => void {
  socket ??= connect();
  return () => {};
}

/** Tries again at once, after a key was entered or the network came back. */
export function reconnect(): void {
  clearTimeout(retry);
  socket?.disconnect().connect();
}

function connect(): Socket<ServerToPage, PageToServer> {
  const connection: Socket<ServerToPage, PageToServer> = io({
    transports: ["websocket"],
    reconnectionDelayMax: RETRY_MS,
    auth: (give) => give({ key: apiKey() }),
  });
  connection.on("connect", () => {
    useServer.setState({ isLocked: false });
    connection.emit("watch", { status: true });
    void describe();
    void loadModels();
  });
  connection.on("status", receive);
  connection.on("voices", () => void (useVoices.getState().load === "ready" && loadVoices()));
  connection.on("disconnect", () => useServer.setState({ state: "offline" }));
  connection.on("connect_error", (error) => {
    const { code } = (error as { data?: { code?: string } }).data ?? {};
    const isLocked = code === "unauthorized";
    useServer.setState({ state: "offline", isLocked });
    if (isLocked) askForKey();
    else if (!connection.active) retry = setTimeout(reconnect, RETRY_MS);
  });
  addEventListener("online", reconnect);
  return connection;
}

function receive(tick: StatusTick): void {
  const { about } = useServer.getState();
  addTick(tick);
  if (changedModels(tick)) void loadModels();
  // The engine describes itself only once it is warm.
  if (tick.stage === "ready" && about !== undefined && about.engine === undefined) void describe();
}

/** Whether a model is there that was not, or has come to speak, which is when its engine describes itself. */
function changedModels({ models }: StatusTick): boolean {
  const known = useModels.getState().models;
  if (known.length === 0) return false;
  return models.some(({ id, stage }) => {
    const model = known.find((one) => one.id === id);
    return model === undefined || (stage === "ready" && model.engine === undefined);
  });
}

async function describe(): Promise<void> {
  const answer = await fetch("/version").catch(() => undefined);
  if (!answer?.ok) return;
  const about: Version = await answer.json();
  useServer.setState({ about, device: about.device, version: about.version });
}
