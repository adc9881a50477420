/** Proves that each rule of `.dependency-cruiser.cjs` fires, and that none stands in the way of what is meant to be. */
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root, runTool } from "./run-tool.ts";

const require = createRequire(import.meta.url);
const config = path.join(root, ".dependency-cruiser.cjs");

const contract = "packages/contract/src";
const policy = "packages/policy/src";
const server = "packages/server/src";
const client = "packages/client/src";
const gateway = "packages/gateway/src";
const device = "packages/device/src";
const console = "packages/console/src";
const features = `${server}/features`;

/** A module that breaks one rule: the rule, where the module stands, and what is wrong with it. */
const broken: readonly (readonly [rule: string, module: string, text: string])[] = [
  ["downward-from-contract", `${contract}/up.ts`, 'import "@gatehouse/policy/decide";'],
  ["downward-from-policy", `${policy}/up.ts`, 'import "@gatehouse/server/platform/clock";'],
  ["downward-from-server", `${server}/platform/up.ts`, 'import "@gatehouse/cli/main";'],
  ["downward-from-cli", "packages/cli/src/up.ts", 'import "../../../bench/src/load.ts";'],
  ["client-stands-alone", `${client}/contract.ts`, 'import type {} from "@gatehouse/contract/data";'],
  ["client-stands-alone", `${client}/library.ts`, 'import "typebox";'],
  ["client-runs-in-browsers", `${client}/file.ts`, 'import "node:fs";'],
  ["server-knows-no-client", `${server}/tasks/call.ts`, 'import "@gatehouse/client/gatehouse";'],
  ["gateway-takes-the-contract-alone", `${gateway}/addresses.ts`, 'import "@gatehouse/policy/decide";'],
  ["nobody-knows-the-gateway", `${server}/platform/agent.ts`, 'import "@gatehouse/gateway/agent";'],
  ["device-shares-parts-of-the-gateway", `${device}/filters.ts`, 'import "@gatehouse/gateway/agent";'],
  ["device-shares-parts-of-the-gateway", `${device}/server.ts`, 'import "@gatehouse/server/routes";'],
  ["only-the-command-line-knows-the-device", `${gateway}/device.ts`, 'import "@gatehouse/device/run-device";'],
  ["console-is-a-client", `${console}/app/server.ts`, 'import "@gatehouse/server/routes";'],
  ["console-is-a-client", `${console}/app/contract.ts`, 'import type {} from "@gatehouse/contract/data";'],
  ["console-runs-in-browsers", `${console}/app/file.ts`, 'import "node:fs";'],
  ["nothing-needs-the-console", `${server}/http/pages.ts`, 'import "../../../console/src/main.tsx";'],
  ["pages-stand-apart", `${console}/pages/users/shared.ts`, 'import "../groups/group-fields.ts";'],
  ["console-downward-from-messages", `${console}/messages/up.ts`, 'import "../pages/groups/group-fields.ts";'],
  ["console-downward-from-app", `${console}/app/up.ts`, 'import "../pages/groups/group-fields.ts";'],
  ["console-downward-from-records", `${console}/records/up.ts`, 'import "../pages/groups/group-fields.ts";'],
  ["console-downward-from-lists", `${console}/lists/up.ts`, 'import "../pages/groups/group-fields.ts";'],
  ["no-cycles", `${policy}/one.ts`, 'import "./two.ts";'],
  ["policy-and-contract-are-pure", `${policy}/clock.ts`, 'import "node:fs";'],
  ["policy-and-contract-are-pure", `${contract}/random.ts`, 'import "crypto";'],
  ["contract-is-data", `${contract}/library.ts`, 'import "fastify";'],
  [
    "database-only-in-queries",
    `${features}/users/users.commands.ts`,
    'import type pg from "pg"; export type Client = pg.Client;',
  ],
  ["database-only-in-queries", `${server}/platform/call.ts`, 'import "pg";'],
  [
    "fastify-only-in-http",
    `${features}/users/users.view.ts`,
    'import type { FastifyReply } from "fastify"; export type Reply = FastifyReply;',
  ],
  [
    "compose-names-fastify-as-a-type",
    `${server}/compose.ts`,
    'import "fastify"; import "./features/users/users.api.ts";',
  ],
  ["links-know-no-end", `${server}/links/turns.ts`, 'import "../features/users/users.api.ts";'],
  ["links-of-a-kind-stand-apart", `${server}/device-link/device.ts`, 'import "../gateway-link/gateway.ts";'],
  ["features-through-their-api", `${features}/users/users.rules.ts`, 'import "../groups/groups.queries.ts";'],
  [
    "others-use-features-through-their-api",
    `${server}/tasks/task.ts`,
    'import "../features/groups/groups.queries.ts";',
  ],
  ["platform-knows-no-feature", `${server}/platform/ids.ts`, 'import "../features/users/users.api.ts";'],
  ["http-knows-no-feature", `${server}/http/mount.ts`, 'import "../features/users/users.api.ts";'],
  ["features-know-http-as-routes", `${features}/groups/groups.commands.ts`, 'import "../../http/route.ts";'],
  ["tests-stay-outside", `${features}/groups/groups.view.ts`, 'import "./groups.test.ts";'],
  ["resolvable", `${policy}/nowhere.ts`, 'import "./not-there.ts";'],
];

/** The other half of the cycle, which is reported once. */
const besides = { [`${policy}/two.ts`]: 'import type { One } from "./one.ts"; export type Two = One;' };

/** Modules that do what they may. */
const permitted: Readonly<Record<string, string>> = {
  [`${contract}/data.ts`]: 'import "typebox";',
  [`${policy}/decide.ts`]: 'import "@gatehouse/contract/data";',
  [`${gateway}/agent.ts`]: 'import "@gatehouse/contract/data"; import "node:fs";',
  [`${gateway}/clock.ts`]: "",
  [`${device}/run-device.ts`]: 'import "@gatehouse/contract/data"; import "@gatehouse/gateway/clock";',
  [`${policy}/decide.test.ts`]: 'import "node:fs"; import "./decide.ts";',
  [`${policy}/testing/cases.ts`]: 'import "node:fs"; import "../decide.ts";',
  [`${server}/platform/clock.ts`]: 'import "@gatehouse/policy/decide"; import "node:timers";',
  [`${server}/platform/db/database.ts`]: 'import "pg";',
  [`${server}/http/route.ts`]: 'import "fastify"; import "../platform/clock.ts";',
  [`${features}/users/users.queries.ts`]: 'import "pg"; import "../groups/groups.api.ts";',
  [`${features}/users/users.api.ts`]: 'export * from "./users.queries.ts";',
  [`${features}/users/users.routes.ts`]: 'import "../../http/route.ts";',
  [`${features}/groups/groups.queries.ts`]: 'import "../../platform/db/database.ts";',
  [`${features}/groups/groups.api.ts`]: 'import "./groups.queries.ts"; import type {} from "../../http/route.ts";',
  [`${features}/groups/groups.test.ts`]:
    'import "pg"; import "../users/users.queries.ts"; import "../../testing/server.ts";',
  [`${server}/links/link-door.ts`]: 'import "../platform/clock.ts";',
  [`${server}/gateway-link/gateway.ts`]: 'import "../links/link-door.ts"; import "../features/users/users.api.ts";',
  [`${server}/testing/server.ts`]: 'import "pg"; import "../features/users/users.queries.ts";',
  [`${server}/routes.ts`]: 'import "./features/users/users.routes.ts";',
  [`${client}/gatehouse.ts`]: 'import "openapi-fetch"; import "./errors.ts";',
  [`${client}/errors.ts`]: 'import type {} from "./generated/api.ts";',
  [`${client}/generated/api.ts`]: "",
  [`${client}/gatehouse.test.ts`]: 'import "node:util"; import "./testing/fake-server.ts";',
  [`${client}/testing/fake-server.ts`]: 'import "../gatehouse.ts"; import "node:util";',
  [`${console}/main.tsx`]: 'import "@gatehouse/client/gatehouse"; import "./pages/users/users.page.tsx";',
  [`${console}/pages/users/users.page.tsx`]:
    'import type {} from "@gatehouse/contract/permissions"; import "../groups/format-group.ts";',
  [`${console}/pages/groups/format-group.ts`]: "",
  [`${console}/pages/groups/group-fields.ts`]: "",
  [`${contract}/permissions.ts`]: "",
  "packages/cli/src/main.ts":
    'import "@gatehouse/server/routes"; import "@gatehouse/client/gatehouse"; import "@gatehouse/device/run-device";',
  "bench/src/load.ts": 'import "fastify"; import "pg"; import "@gatehouse/cli/main";',
};

interface Violation {
  readonly from: string;
  readonly rule: { readonly name: string };
}

let folder: string;
let violations: readonly Violation[];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-boundaries-"));
  for (const [module, text] of [
    ...broken.map(([, module, text]) => [module, text] as const),
    ...Object.entries({ ...besides, ...permitted }),
  ]) {
    await mkdir(path.dirname(path.join(folder, module)), { recursive: true });
    await writeFile(path.join(folder, module), `${text}\nexport type One = 1;\n`);
  }
  await cp(path.join(root, "tsconfig.base.json"), path.join(folder, "tsconfig.base.json"));
  await mkdir(path.join(folder, "node_modules/@gatehouse"), { recursive: true });
  for (const name of ["contract", "policy", "server", "client", "cli", "gateway", "device", "console"]) {
    const place = path.join(folder, "packages", name);
    await cp(path.join(root, "packages", name, "package.json"), path.join(place, "package.json"));
    await symlink(place, path.join(folder, "node_modules/@gatehouse", name));
  }
  for (const name of ["pg", "fastify", "typebox", "openapi-fetch"]) {
    await symlink(path.join(root, "node_modules", name), path.join(folder, "node_modules", name));
  }
  violations = await cruise(folder, ["packages", "bench"]);
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

async function cruise(cwd: string, places: readonly string[]): Promise<readonly Violation[]> {
  const output = await runTool("depcruise", ["--config", config, "--output-type", "json", ...places], cwd);
  return JSON.parse(output).summary.violations;
}

describe("the rules of imports", () => {
  test.each(broken)("%s: %s is reported", (rule, module) => {
    const reported = violations.filter(({ from }) => from === module).map(({ rule: { name } }) => name);
    expect(reported).toContain(rule);
  });

  test.each(Object.keys(permitted))("%s is fine", (module) => {
    expect(violations.filter(({ from }) => from === module)).toEqual([]);
  });

  test("each have a module that breaks them", () => {
    const rules: { readonly forbidden: readonly { readonly name: string }[] } = require(config);
    const shown = broken.map(([rule]) => rule);
    expect(rules.forbidden.map(({ name }) => name).filter((name) => !shown.includes(name))).toEqual([]);
  });
});
