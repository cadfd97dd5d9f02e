import { describe, expect, it } from "vitest";
import { runAttached, runLines, runOrFail } from "./process.mjs";

const node = process.execPath;

describe("runLines", () => {
  it("hands over every line of both outputs and the exit status", async () => {
    const lines: string[] = [];
    const program = "console.log('one'); console.error('two'); process.exitCode = 3";
    const status = await runLines(node, ["-e", program], { onLine: (line) => lines.push(line) });
    expect(lines.sort()).toEqual(["one", "two"]);
    expect(status).toBe(3);
  });

  it("says in one sentence that a program cannot start", async () => {
    await expect(runLines("/nowhere/program", [])).rejects.toThrow(
      "/nowhere/program could not start",
    );
  });
});

describe("runOrFail", () => {
  it("fails with the last lines", async () => {
    const program = "for (let i = 0; i < 9; i++) console.log(i); process.exitCode = 2";
    await expect(runOrFail("Counting", node, ["-e", program], { tail: 2 })).rejects.toMatchObject({
      message: "Counting failed with status 2; the last lines are above.",
      details: ["7", "8"],
    });
  });
});

describe("runAttached", () => {
  it("ends with the status of the child, or 128 and its signal", async () => {
    expect(await runAttached(node, ["-e", "process.exitCode = 4"])).toBe(4);
    expect(await runAttached(node, ["-e", "process.kill(process.pid, 'SIGTERM')"])).toBe(143);
  });
});
