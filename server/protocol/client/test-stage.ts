/** A speech socket on a network of the test's own, and what it tells. */
import { SpeechSocket } from "./socket.ts";
import type { SocketEvent, SpeechSocketOptions } from "./socket-types.ts";
import { CREATED, type FakeWebSocket, fakeNetwork } from "./test-web-socket.ts";

export interface Stage {
  readonly socket: SpeechSocket;
  readonly made: FakeWebSocket[];
  readonly events: SocketEvent[];
  /** The newest connection. */
  readonly wire: () => FakeWebSocket;
}

export function stageOf(options: Partial<SpeechSocketOptions> = {}): Stage {
  const { WebSocket, made } = fakeNetwork();
  const socket = new SpeechSocket({
    baseUrl: "http://house:8091",
    WebSocket,
    random: () => 1,
    reconnect: { attempts: 3, baseMs: 100, maxMs: 1000 },
    ...options,
  });
  const events: SocketEvent[] = [];
  socket.on("*", (event) => events.push(event));
  return { socket, made, events, wire: () => made.at(-1) as FakeWebSocket };
}

/** A session that is open. */
export async function openStage(options: Partial<SpeechSocketOptions> = {}): Promise<Stage> {
  const stage = stageOf(options);
  const opened = stage.socket.open({ voice: "clara" });
  stage.wire().open();
  stage.wire().say(CREATED);
  await opened;
  return stage;
}

/** The newest connection is lost, and the next one is made and opened. @param pass lets time pass */
export function comeBack(
  stage: Stage,
  pass: (ms: number) => void,
  fromSeq: number,
  lost = false,
): FakeWebSocket {
  stage.wire().end();
  pass(1000);
  stage.wire().open();
  stage.wire().say({ type: "session.resumed", from_seq: fromSeq, lost });
  return stage.wire();
}

export const typesOf = (events: readonly SocketEvent[]) => events.map(({ type }) => type);

/** All sound among the events. */
export const bytesOf = (events: readonly SocketEvent[]) =>
  events.flatMap((event) => (event.type === "chunk" ? [...event.bytes] : []));
