/** Component tests: a happy-dom window and a mock API, without a server or a database. */
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["gatehouse-source", "module", "browser"] },
  // The production build of React renders several times faster. Its JSX runtime has no development variant.
  oxc: { jsx: { runtime: "automatic", development: false } },
  test: {
    env: { NODE_ENV: "production" },
    name: "console",
    include: ["src/**/*.test.tsx"],
    environment: "./src/testing/dom-environment.ts",
    setupFiles: ["./src/testing/set-up.ts"],
    server: { deps: { inline: [/@gatehouse\//] } },
    // Loading the modules again for each file would take longer than most files run.
    isolate: false,
    // Like the other projects (vitest.config.ts).
    experimental: { fsModuleCache: true },
    // Like the project unit, with which it runs (vitest.config.ts).
    sequence: { groupOrder: 0 },
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Limits for what never ends. A busy machine takes several times as long as a quiet one.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
