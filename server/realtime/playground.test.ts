/** The playground's door over tones: the same speech as on the speech socket, several sessions on one connection. */
import { io, type Socket } from "socket.io-client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TestSocket } from "../cases/test-socket.ts";
import type {
  ErrorInfo,
  OpenedInfo,
  PageToServer,
  ServerToPage,
  StatusTick,
} from "../protocol/playground.ts";
import {
  type Changes,
  type Doors,
  engineIdle,
  openDoors,
  openToneHouse,
  type ToneHouse,
  until,
} from "./test-doors.ts";

type Page = Socket<ServerToPage, PageToServer>;
type Event = { readonly name: string; readonly info: Record<string, unknown>; audio?: Uint8Array };

const TEXT = "one two three four. five six seven eight.";

let house: ToneHouse;
let doors: Doors;
const pages: Page[] = [];
beforeEach(async () => {
  house = await openToneHouse();
});
afterEach(async () => {
  for (const page of pages.splice(0)) page.disconnect();
  await doors.close();
  await house.close();
});

async function connectPage(options: object = {}): Promise<{ page: Page; events: Event[] }> {
  const page: Page = io(`http://127.0.0.1:${doors.port}`, {
    transports: ["websocket"],
    reconnection: false,
    forceNew: true,
    ...options,
  });
  pages.push(page);
  const events: Event[] = [];
  page.onAny((name: string, info: Record<string, unknown>, audio?: Uint8Array) =>
    events.push({ name, info, ...(audio === undefined ? {} : { audio }) }),
  );
  await new Promise<void>((resolve, reject) => {
    page.on("connect", resolve).on("connect_error", reject);
  });
  return { page, events };
}

async function openPage(changes: Changes = {}, options: object = {}) {
  doors = await openDoors(house, changes);
  return connectPage(options);
}

const openSession = (page: Page, session: string, wish: object = {}) =>
  page.emitWithAck("open", { session, seed: 9, ...wish }) as Promise<OpenedInfo & ErrorInfo>;

const seen = (events: Event[], name: string, session?: string) =>
  events.filter(
    (event) => event.name === name && (session === undefined || event.info.session === session),
  );

function audioOf(events: Event[], session: string): Buffer {
  return Buffer.concat(seen(events, "chunk", session).map(({ audio }) => audio ?? Buffer.alloc(0)));
}

describe("a page", () => {
  it("opens a session, sends text and hears the same as on the speech socket", async () => {
    const { page, events } = await openPage();
    expect(await openSession(page, "a")).toMatchObject({ session: "a", sample_rate: 8000 });
    page.emit("text", { session: "a", text: TEXT.slice(0, 9) });
    page.emit("text", { session: "a", text: TEXT.slice(9) });
    page.emit("end", { session: "a" });
    await until(() => seen(events, "done", "a").length === 1);
    const shape = events.map(({ name }) => name).filter((name, i, all) => name !== all[i - 1]);
    expect(shape.filter((name) => name !== "queued").join(" ")).toBe(
      "segment chunk segment_done segment chunk segment_done done",
    );
    expect(seen(events, "done")[0]?.info).toMatchObject({ total_sentences: 2 });

    const socket = new TestSocket(doors.url);
    await socket.opened;
    socket.send({ type: "session.config", response_format: "pcm", stream_audio: true, seed: 9 });
    socket.send({ type: "input.text", text: TEXT });
    socket.send({ type: "input.done" });
    await socket.until("session.done");
    expect(audioOf(events, "a").length).toBeGreaterThan(0);
    expect(audioOf(events, "a").equals(socket.audio())).toBe(true);
  });

  it("and a speech socket send the integers that the engine wrote", async () => {
    house.native.integers = (pcm) => new Int16Array(pcm.length).fill(0x0707);
    const { page, events } = await openPage();
    await openSession(page, "a");
    page.emit("text", { session: "a", text: "one two." });
    page.emit("end", { session: "a" });
    await until(() => seen(events, "done", "a").length === 1);
    const sound = audioOf(events, "a");
    expect(sound.length).toBeGreaterThan(0);
    expect(sound.every((byte) => byte === 7)).toBe(true);

    for (const [response_format, stream_audio, header] of [
      ["pcm", true, 0],
      ["pcm", false, 0],
      ["wav", false, 44],
    ] as const) {
      const socket = new TestSocket(doors.url);
      await socket.opened;
      socket.send({ type: "session.config", response_format, stream_audio, seed: 9 });
      socket.send({ type: "input.text", text: "one two." });
      socket.send({ type: "input.done" });
      await socket.until("session.done");
      expect(socket.audio().subarray(header).equals(sound)).toBe(true);
    }
  });

  it("has several sessions at once, whose sounds do not mix", async () => {
    const { page, events } = await openPage();
    const names = ["a", "b", "c"];
    for (const session of names) await openSession(page, session);
    for (const session of names) page.emit("text", { session, text: TEXT });
    for (const session of names) page.emit("end", { session });
    await until(() => seen(events, "done").length === names.length);
    const sounds = names.map((session) => audioOf(events, session).toString("base64"));
    expect(new Set(sounds).size).toBe(1);
    await until(() => house.service.openSessions === 0);
  });

  it("cancels, and may use the name again", async () => {
    house.native.fate = () => ({
      frames: 80,
      before: () => new Promise((resolve) => setTimeout(resolve, 5)),
    });
    const { page, events } = await openPage();
    await openSession(page, "a");
    page.emit("text", { session: "a", text: TEXT });
    await until(() => seen(events, "chunk").length > 0);
    page.emit("cancel", { session: "a" });
    await until(() => seen(events, "done", "a").length === 1);
    expect(seen(events, "cancelled")).toHaveLength(1);
    await engineIdle(house);
    await until(() => house.service.openSessions === 0);
    expect(await openSession(page, "a")).toMatchObject({ session: "a", frame_ms: 80 });
  });

  it("takes a numbered text once", async () => {
    const { page, events } = await openPage();
    await openSession(page, "a");
    for (const seq of [0, 0, 1]) page.emit("text", { session: "a", text: "again and ", seq });
    page.emit("end", { session: "a" });
    await until(() => seen(events, "done").length === 1);
    expect(seen(events, "segment")[0]?.info.sentence_text).toBe("again and again and");
  });

  it("is told what is wrong with what it sends", async () => {
    const { page, events } = await openPage();
    expect(await openSession(page, "a")).not.toHaveProperty("code");
    expect(await openSession(page, "a")).toMatchObject({ code: "invalid_message", fatal: true });
    expect(await openSession(page, "b", { speed: 99 })).toMatchObject({ code: "schema_violation" });
    expect(await openSession(page, "c", { model: "nope" })).toMatchObject({
      code: "model_not_found",
    });
    page.emit("text", { session: "a", text: 5 } as never);
    await until(() => seen(events, "error").length === 1);
    expect(seen(events, "error")[0]?.info).toMatchObject({ session: "a", fatal: false });
    page.emit("text", { session: "a", text: "x".repeat(2000) });
    await until(() => seen(events, "error").length === 2);
    expect(seen(events, "error")[1]?.info).toMatchObject({ code: "input_overflow" });
  });

  it("sees the state of the server while it watches", async () => {
    const { page, events } = await openPage();
    page.emit("watch", { status: true });
    await until(() => seen(events, "status").length > 0);
    const tick = seen(events, "status")[0]?.info as unknown as StatusTick;
    expect(tick).toMatchObject({ state: "ready", active: 0, waiting: 0, capacity: 4, sockets: 1 });
    expect(tick).toMatchObject({ stage: "ready", errors: [], streams: 0 });
  });

  it("that leaves takes its sessions with it", async () => {
    house.native.fate = () => ({
      frames: 100,
      before: () => new Promise((resolve) => setTimeout(resolve, 5)),
    });
    const { page, events } = await openPage();
    for (const session of ["a", "b"]) {
      await openSession(page, session);
      page.emit("text", { session, text: TEXT });
    }
    await until(() => seen(events, "chunk").length > 0);
    page.disconnect();
    await until(() => house.service.openSessions === 0);
    await engineIdle(house);
  });
});

describe("a page that does not read", () => {
  it("is let go after the stall limit, and the generation has paused before", async () => {
    house.native.fate = () => ({ frames: 100 });
    const { page } = await openPage({ sockets: { stallTimeoutMs: 300 } });
    await openSession(page, "a", { max_lead_ms: 600_000 });
    doors.connections[0]?.cork();
    for (let i = 0; i < 20; i++) page.emit("text", { session: "a", text: TEXT });
    await until(() => house.service.openSessions === 0);
    await engineIdle(house);
    const made = house.native.generations.reduce((sum, { made: own }) => sum + own, 0);
    expect(made).toBeLessThan(4000);
  });
});

it("pages are limited in number, and may watch a server that is shutting down", async () => {
  const { page, events } = await openPage({ sockets: { maxSessions: 2 } });
  await house.service.drain(0);
  page.emit("watch", { status: true });
  await connectPage();
  await expect(connectPage()).rejects.toThrow();
  await until(() => seen(events, "status").length > 0);
  expect(seen(events, "status")[0]?.info).toMatchObject({ state: "shutting_down", sockets: 2 });
  expect(await openSession(page, "a")).toMatchObject({ code: "shutting_down", retryable: true });
});

describe("the handshake", () => {
  it("needs the origin and the key that the speech socket needs", async () => {
    doors = await openDoors(house, {
      server: { apiKeys: ["secret"], corsOrigins: ["https://a.example"] },
    });
    const authorization = "Bearer secret";
    const headers = (origin: string, key: object) => ({ extraHeaders: { origin, ...key } });
    await expect(connectPage(headers("https://a.example", {}))).rejects.toThrow();
    await expect(connectPage(headers("https://b.example", { authorization }))).rejects.toThrow();
    const { page } = await connectPage(headers("https://a.example", { authorization }));
    expect(page.connected).toBe(true);
  });

  it("takes the key from the first packet, since pages set no headers, and says what is missing", async () => {
    doors = await openDoors(house, { server: { apiKeys: ["secret"] } });
    for (const auth of [{}, { key: "wrong" }, { key: 5 }, { key: "" }]) {
      await expect(connectPage({ auth })).rejects.toMatchObject({ data: { code: "unauthorized" } });
    }
    const { page, events } = await connectPage({ auth: { key: "secret" } });
    page.emit("watch", { status: true });
    await until(() => seen(events, "status").length > 0);
    const tick = seen(events, "status")[0]?.info as unknown as StatusTick;
    expect(tick.errors).toMatchObject([{ code: "unauthorized", count: 4 }]);
  });

  it("lets nobody who showed no key open a session or watch", async () => {
    doors = await openDoors(house, { server: { apiKeys: ["secret"] } });
    const page: Page = io(`http://127.0.0.1:${doors.port}`, {
      transports: ["websocket"],
      forceNew: true,
    });
    pages.push(page);
    const heard: string[] = [];
    page.onAny((name: string) => heard.push(name));
    page.emit("watch", { status: true });
    page.emit("open", { session: "a" }, () => heard.push("opened"));
    await new Promise((resolve) => page.once("connect_error", resolve));
    await new Promise((resolve) => setTimeout(resolve, 1200));
    expect(heard).toEqual([]);
    expect(house.service.openSessions).toBe(0);
  });

  it("counts against the limit of its key", async () => {
    doors = await openDoors(house, { server: { apiKeys: ["a", "b"], requestsPerMinute: 1 } });
    await connectPage({ auth: { key: "a" } });
    const again = connectPage({ auth: { key: "a" } });
    await expect(again).rejects.toMatchObject({ data: { code: "rate_limited" } });
    await connectPage({ auth: { key: "b" } });
  });
});
