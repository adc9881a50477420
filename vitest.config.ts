import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { waitLimitMs } from "./test/wait-limit.ts";

/** File for the results as JSON; CI sets it. */
const report = process.env.GATEHOUSE_TEST_REPORT;

const postgres = "packages/server/src/testing/database-setup.ts";

/** Tests with a budget (test/budget.ts). They also run with the unit or server tests, on a twentieth of it. */
const budgeted = readdirSync("packages")
  .flatMap((name) =>
    readdirSync(`packages/${name}/src`, { recursive: true, encoding: "utf8" }).map(
      (file) => `packages/${name}/src/${file}`,
    ),
  )
  .filter((file) => file.endsWith(".test.ts") && readFileSync(file, "utf8").includes("test/budget.ts"));
/** Packages whose tests need a server or a database. Their rules are pure, and are unit tests. */
const withServer = ["packages/embedded-postgres", "packages/server", "packages/cli"];
const rules = "packages/server/src/**/*.rules.test.ts";

/**
 * Projects of one group run side by side on the same workers, by their names. Packets mostly wait, so the files of
 * other projects compute meanwhile. A worker keeps its modules and its server from file to file of a project.
 */
const groups = { withoutDatabase: 0, withDatabase: 1, soak: 2, packages: 3 } as const;
/** Packets, browsers and databases make tests wait: three workers use two cores fully. Pure code needs only two. */
const workers = {
  computing: Math.max(2, availableParallelism() - 1),
  waiting: Math.max(3, availableParallelism() - 1),
};

const projects: readonly NonNullable<TestProjectInlineConfiguration["test"]>[] = [
  {
    name: "unit",
    sequence: { groupOrder: groups.withoutDatabase },
    maxWorkers: workers.computing,
    include: ["packages/*/src/**/*.test.{ts,tsx}", "{bench,packaging}/src/**/*.test.ts"],
    exclude: [
      ...withServer.map((folder) => `${folder}/src/**/!(*.rules).test.ts`),
      "packages/console/src/**/*.test.tsx",
    ],
  },
  {
    name: "server",
    include: [
      ...withServer.map((folder) => `${folder}/src/**/*.test.ts`),
      "test/{architecture,contract,end-to-end}/**/*.test.ts",
    ],
    exclude: [rules],
    globalSetup: [postgres],
  },
  { name: "browser", include: ["test/console/**/*.test.ts"], globalSetup: [postgres] },
  { name: "packets", include: ["test/enforcement/**/*.test.ts"], globalSetup: [postgres] },
  {
    name: "soak",
    sequence: { groupOrder: groups.soak },
    maxWorkers: workers.computing,
    include: budgeted,
    globalSetup: [postgres],
    provide: { budget: 1 },
    // Full budgets take minutes on a busy machine.
    testTimeout: 600_000,
  },
  {
    name: "packages",
    sequence: { groupOrder: groups.packages },
    maxWorkers: 1,
    include: ["test/packages/**/*.test.ts"],
  },
];

export default defineConfig({
  test: {
    reporters: report === undefined ? ["default"] : ["default", ["json", { outputFile: report }]],
    projects: [
      // Components need a window of their own, and the production build of React.
      "packages/console/vitest.config.ts",
      ...projects.map(
        (project): TestProjectInlineConfiguration => ({
          // Tests read the TypeScript sources of every workspace, never a stale build.
          ssr: { resolve: { conditions: ["gatehouse-source", "node"] } },
          resolve: { conditions: ["gatehouse-source", "node"] },
          test: {
            provide: { budget: 0.05 },
            sequence: { groupOrder: groups.withDatabase },
            maxWorkers: workers.waiting,
            // Limits for what never ends.
            testTimeout: 300_000,
            hookTimeout: 300_000,
            ...project,
            server: { deps: { inline: [/@gatehouse\//] } },
            // Loading the modules again for each file would take longer than most files run.
            isolate: false,
            expect: { poll: { timeout: waitLimitMs } },
          },
        }),
      ),
    ],
  },
});
