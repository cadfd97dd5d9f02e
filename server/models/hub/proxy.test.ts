/** Proxies as the environment names them. */
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { HubError } from "./errors.ts";
import { openSource } from "./open-source.ts";
import { TestHub } from "./test-hub.ts";

let hub: TestHub;
let proxy: Server;
let proxyUrl: string;
let tunnels: string[];

beforeEach(async () => {
  hub = await TestHub.start();
  hub.put("maker/model", "config.json", "{}");
  tunnels = [];
  proxy = createServer().on("connect", ({ url = "" }, socket) => {
    tunnels.push(url);
    const [host, port] = url.split(":");
    const there = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      there.pipe(socket).pipe(there);
    });
    for (const end of [there, socket]) end.on("error", () => {});
  });
  await new Promise<void>((ready) => proxy.listen(0, "127.0.0.1", ready));
  proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
});

afterEach(async () => {
  proxy.close();
  await hub.close();
});

it.each([
  [{ HTTP_PROXY: true }, true],
  [{ http_proxy: true, NO_PROXY: "example.com" }, true],
  [{ HTTP_PROXY: true, NO_PROXY: "127.0.0.1" }, false],
  [{}, false],
])("with %j", async (written, isUsed) => {
  const entries = Object.entries(written);
  const environment = {
    HF_ENDPOINT: hub.url,
    ...Object.fromEntries(
      entries.map(([name, value]) => [name, value === true ? proxyUrl : String(value)]),
    ),
  };
  const { source, client } = openSource("huggingface", environment);
  const { files } = await source.snapshot("maker/model");
  await client.close();
  expect(files).toHaveLength(1);
  expect(new Set(tunnels)).toEqual(new Set(isUsed ? [new URL(hub.url).host] : []));
});

it.each(["ftp://mirror.example", "https://user:secret@mirror.example", "http://["])(
  "HF_ENDPOINT %s is refused",
  (HF_ENDPOINT) => {
    expect(() => openSource("huggingface", { HF_ENDPOINT })).toThrow(HubError);
    expect(() => openSource("huggingface", { HF_ENDPOINT })).toThrow(
      /^HF_ENDPOINT must be an http/,
    );
  },
);
