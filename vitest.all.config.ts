/**
 * The tests of `npm test`. Files that need a database form one project, so that each worker keeps its modules, its
 * server and its browser between files of any kind, and files that wait run beside files that compute.
 */
import { defineConfig } from "vitest/config";
import { componentTests, root, runnable, server, unit, withDatabase, workers } from "./vitest.config.ts";

export default defineConfig({
  test: {
    ...root,
    projects: [
      componentTests,
      runnable(unit),
      runnable({
        ...server,
        name: "with-database",
        maxWorkers: workers.mixed,
        include: withDatabase.flatMap(({ include = [] }) => include),
      }),
    ],
  },
});
