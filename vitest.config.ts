import { defineConfig } from "vitest/config";

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
          include: folders.map((folder) => `${folder}/**/*.test.ts`),
          exclude: [integration, "**/node_modules/**", "native/build/**"],
        },
      },
      {
        test: {
          name: "integration",
          environment: "node",
          include: folders.map((folder) => `${folder}/**/*.int.test.ts`),
          exclude: ["**/node_modules/**", "native/build/**"],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "e2e",
          environment: "node",
          include: ["e2e/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
