import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Where CI wants the results as JSON. */
const report = process.env.GATEHOUSE_TEST_REPORT;

export default defineConfig({
  // Tests read the TypeScript sources of every workspace, never a stale build.
  ssr: { resolve: { conditions: ["gatehouse-source", "node"] } },
  resolve: { conditions: ["gatehouse-source", "node"] },
  test: {
    include: ["packages/*/src/**/*.test.ts", "bench/src/**/*.test.ts", "test/**/*.test.ts"],
    server: { deps: { inline: [/@gatehouse\//] } },
    globalSetup: ["packages/server/src/testing/database-setup.ts"],
    reporters: report === undefined ? ["default"] : ["default", ["json", { outputFile: report }]],
    // Real packets, browsers and databases make tests wait more than they compute: two at a time, also on two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // For what never ends: a machine that is busy with something else takes several times as long as another.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A second, which is the usual, is short where a browser and a server share two cores with another file.
    expect: { poll: { timeout: 20_000 } },
  },
});
