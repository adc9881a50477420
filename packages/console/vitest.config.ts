/** Component tests: a happy-dom window and a mock API, without a server or a database. */
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
    isolate: false,
    testTimeout: 30_000,
  },
});
