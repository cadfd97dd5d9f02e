/** How an API key reaches the server: in a header where that can be set, else as a subprotocol. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { SpeechSocket } from "./socket.ts";
import { keySubprotocol } from "./socket-link.ts";
import { fakeNetwork } from "./test-web-socket.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

/** The connection that a socket opens, on the platform's own WebSocket or on one that is passed. */
function connectionOf(apiKey: string | undefined, isPassed: boolean) {
  const { WebSocket, made } = fakeNetwork();
  vi.stubGlobal("WebSocket", WebSocket);
  const passed = isPassed ? { WebSocket } : {};
  const socket = new SpeechSocket({ baseUrl: "http://house:8091", apiKey, ...passed });
  socket.open().catch(() => {});
  return made[0];
}

describe("an API key", () => {
  it("goes into a subprotocol of a page's own socket, which sets no headers", () => {
    const { protocols, options } = connectionOf("a+b/ü?", false) ?? {};
    expect(protocols).toEqual(["voice-speech.v2", keySubprotocol("a+b/ü?")]);
    expect(options).toBeUndefined();
  });

  it("goes into a header of a socket that was passed", () => {
    const { protocols, options } = connectionOf("key", true) ?? {};
    expect(protocols).toEqual(["voice-speech.v2"]);
    expect(options).toEqual({ headers: { authorization: "Bearer key" } });
  });

  it("is not there at all if there is none", () => {
    expect(connectionOf(undefined, false)?.protocols).toEqual(["voice-speech.v2"]);
  });

  it.each(["key", "a+b/ü?", "鍵🔑", "~".repeat(64)])("survives as a subprotocol: %s", (key) => {
    const name = keySubprotocol(key);
    expect(name).toMatch(/^sonant\.key\.[\w-]+$/);
    expect(Buffer.from(name.slice("sonant.key.".length), "base64url").toString()).toBe(key);
  });
});
