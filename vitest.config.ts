import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig, type TestProjectInlineConfiguration, type TestUserConfig } from "vitest/config";
import { RepeatedTests, retry } from "./test/repeated-tests.ts";
import { SlowestFirst } from "./test/slowest-first.ts";
import { waitLimitMs } from "./test/wait-limit.ts";

type Project = NonNullable<TestProjectInlineConfiguration["test"]>;

/** File for the results as JSON; CI sets it. */
const report = process.env.GATEHOUSE_TEST_REPORT;

const postgres = "packages/server/src/testing/database-setup.ts";

/** The test files of all packages, and their texts. */
const texts = new Map(
  readdirSync("packages")
    .flatMap((name) =>
      readdirSync(`packages/${name}/src`, { recursive: true, encoding: "utf8" }).map(
        (file) => `packages/${name}/src/${file}`,
      ),
    )
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => [file, readFileSync(file, "utf8")] as const),
);
/** Tests with a budget (test/budget.ts). They also run with the unit or server tests, on a twentieth of it. */
const budgeted = [...texts].filter(([, text]) => text.includes("test/budget.ts")).map(([file]) => file);
/** Packages whose tests need a server or a database. */
const withServer = ["packages/embedded-postgres", "packages/server", "packages/cli"];
/**
 * Unit tests of these packages: rules are pure. Tests that replace timers must not share a process with a server, which
 * would lose the timers that it sets meanwhile.
 */
const isUnitTest = (file: string) => file.endsWith(".rules.test.ts") || texts.get(file)?.includes("useFakeTimers");
const ofServers = [...texts.keys()].filter((file) => withServer.some((folder) => file.startsWith(`${folder}/`)));

/** Projects of a group run on the same workers, one after the other. Groups also run one after the other. */
const groups = { withoutDatabase: 0, withDatabase: 1, soak: 2, packages: 3, measurements: 4 } as const;
/**
 * Pure code needs a worker for each core. Packets, browsers and databases make tests wait: three workers use two cores
 * fully, or four if half of them run packets.
 */
export const workers = {
  computing: Math.max(2, availableParallelism() - 1),
  waiting: Math.max(3, availableParallelism() - 1),
  mixed: Math.max(4, availableParallelism() - 1),
};

export const unit: Project = {
  name: "unit",
  sequence: { groupOrder: groups.withoutDatabase },
  maxWorkers: workers.computing,
  include: ["{packages/*,bench,packaging}/src/**/*.test.ts"],
  exclude: ofServers.filter((file) => !isUnitTest(file)),
};
export const server: Project = {
  name: "server",
  include: [
    ...withServer.map((folder) => `${folder}/src/**/*.test.ts`),
    "test/{architecture,contract,end-to-end}/**/*.test.ts",
  ],
  exclude: ofServers.filter(isUnitTest),
  globalSetup: [postgres],
};
const browser: Project = { name: "browser", include: ["test/console/**/*.test.ts"], globalSetup: [postgres] };
const packets: Project = { name: "packets", include: ["test/enforcement/**/*.test.ts"], globalSetup: [postgres] };
/** `npm test` runs the files of these as one project (vitest.all.config.ts). */
export const withDatabase: readonly Project[] = [server, browser, packets];

const projects: readonly Project[] = [
  unit,
  ...withDatabase,
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
    name: "measurements",
    sequence: { groupOrder: groups.measurements },
    maxWorkers: 1,
    include: ["test/measurements/**/*.test.ts"],
    globalSetup: [postgres],
    // 200 runs, each of which lets a device connect again, take most of an hour.
    testTimeout: 7_200_000,
  },
  {
    name: "packages",
    sequence: { groupOrder: groups.packages },
    // All files share the release that the first one makes.
    maxWorkers: 1,
    globalSetup: ["test/packages/run-folder.ts"],
    include: ["test/packages/**/*.test.ts"],
  },
];

/** Components need their own window, and the production build of React. */
export const componentTests = "packages/console/vitest.config.ts";

/** Tests read the TypeScript sources of every workspace, never a stale build. */
const conditions = ["gatehouse-source", "node"];

/** Adds the settings that all projects share. */
export function runnable(project: Project): TestProjectInlineConfiguration {
  return {
    ssr: { resolve: { conditions } },
    // Vitest loads the global setup in an environment of its own.
    environments: { __vitest__: { resolve: { conditions } } },
    resolve: { conditions },
    test: {
      provide: { budget: 0.05 },
      sequence: { groupOrder: groups.withDatabase },
      maxWorkers: workers.waiting,
      // Limits for what never ends.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      retry,
      ...project,
      server: { deps: { inline: [/@gatehouse\//] } },
      // Loading the modules again for each file would take longer than most files run.
      isolate: false,
      // Transforming the modules takes half of the processor time of a run of one file (docs/decisions/0203).
      experimental: { fsModuleCache: true },
      expect: { poll: { timeout: waitLimitMs } },
    },
  };
}

const jsonReporter = (outputFile: string): ["json", { outputFile: string }] => ["json", { outputFile }];

/** Settings of a run, whatever its projects are. */
export const root = {
  reporters: ["default", new RepeatedTests(), ...(report === undefined ? [] : [jsonReporter(report)])],
  sequence: { sequencer: SlowestFirst },
} satisfies TestUserConfig;

export default defineConfig({
  test: { ...root, projects: [componentTests, ...projects.map(runnable)] },
});
