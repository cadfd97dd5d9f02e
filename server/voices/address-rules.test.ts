import { describe, expect, it } from "vitest";
import { addressKind } from "./address-rules.ts";

describe("addressKind", () => {
  it.each(["93.184.216.34", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111"])(
    "%s is public",
    (address) => expect(addressKind(address)).toBe("public"),
  );

  it.each([
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.0.9",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "::1",
    "fd00::1",
    "::ffff:127.0.0.1",
    "::ffff:a00:1",
    "0:0:0:0:0:ffff:c0a8:1",
  ])("%s is private", (address) => expect(addressKind(address)).toBe("private"));

  it.each([
    "0.0.0.0",
    "169.254.169.254",
    "192.0.2.1",
    "198.19.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "::127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:0",
    "localhost",
    "",
  ])("%s is forbidden", (address) => expect(addressKind(address)).toBe("forbidden"));
});
