import { describe, expect, it } from "vitest";
import { buildPercent, progressPrinter } from "./progress.mjs";

describe("buildPercent", () => {
  it("reads make and Ninja and ignores other lines", () => {
    expect(buildPercent("[  7%] Building CXX object a.o")).toBe(7);
    expect(buildPercent("[100%] Built target x")).toBe(100);
    expect(buildPercent("[3/20] Building CXX object a.o")).toBe(15);
    expect(buildPercent("warning: [50%] is not progress")).toBeUndefined();
  });
});

function record(isTTY: boolean) {
  const written: string[] = [];
  const write = (text: string) => written.push(text);
  return { written, printer: progressPrinter("Build", { isTTY, columns: 40, write }) };
}

describe("progressPrinter", () => {
  it("writes one line per ten per cent to a log", () => {
    const { written, printer } = record(false);
    for (let percent = 1; percent <= 35; percent++) printer.line(`[ ${percent}%] Building a.o`);
    expect(written).toEqual(["Build 0 %\n", "Build 10 %\n", "Build 20 %\n", "Build 30 %\n"]);
    expect(printer.end()).toBe(true);
  });

  it("rewrites one line on a terminal, cut to its width", () => {
    const { written, printer } = record(true);
    printer.line("[ 12%] Building CXX object some/very/long/path/of/a/file.cpp.o");
    const [clear = "", text = ""] = [written[0]?.slice(0, 4), written[0]?.slice(4)];
    expect(clear).toBe("\r\u001b[K");
    expect(text).toMatch(/^Build {2}12 % {2}Building/);
    expect(text.length).toBeLessThan(40);
  });

  it("stays silent when nothing is compiled", () => {
    const { written, printer } = record(false);
    printer.line("[ 50%] Built target sonant_core");
    printer.line("[100%] Built target sonant_addon");
    expect(printer.end()).toBe(false);
    expect(written).toEqual([]);
  });
});
