import { defineConfig } from "vitest/config";

/** A machine that does other work as well may be too slow once; what is wrong fails again. */
const retry = process.env.CI ? 2 : 0;
/** A browser's audio thread drops what it gets no processor for, wherever it runs. */
const retryInBrowser = process.env.CI ? 2 : 1;
const integration = "**/*.int.test.ts";
const folders = ["server", "scripts", "native", "components", "public"];

export default defineConfig({
  test: {
    environment: "node",
    projects: [
      {
        test: {
          name: "unit",
          environment: "node",
          // Vitest leaves a processor to itself, which is half of a machine with two.
          maxWorkers: "100%",
          include: folders.map((folder) => `${folder}/**/*.test.ts`),
          exclude: [integration, "**/node_modules/**", "native/build/**"],
        },
      },
      {
        test: {
          name: "integration",
          environment: "node",
          retry,
          include: folders.map((folder) => `${folder}/**/*.int.test.ts`),
          exclude: ["**/node_modules/**", "native/build/**"],
          // Engines of tests have one thread, and their servers are waited for: two files share a processor well.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "e2e",
          environment: "node",
          retry: retryInBrowser,
          include: ["e2e/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
