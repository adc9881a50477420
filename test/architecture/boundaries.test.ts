/**
 * Proves that each rule of `.dependency-cruiser.cjs` fires, that none rejects permitted imports, and that cycles
 * between folders are found.
 */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CruisedModule, folderCycles } from "../../tools/folder-cycles.mjs";
import { root, runTool } from "./run-tool.ts";

const require = createRequire(import.meta.url);
const config = path.join(root, ".dependency-cruiser.cjs");

const addresses = "packages/addresses/src";
const contract = "packages/contract/src";
const protocol = "packages/agent-protocol/src";
const core = "packages/agent-core/src";
const policy = "packages/policy/src";
const server = "packages/server/src";
const client = "packages/client/src";
const gateway = "packages/gateway/src";
const device = "packages/device/src";
const console = "packages/console/src";
const features = `${server}/features`;

/** Modules that violate one rule each: the rule, the module's path and its text. */
const broken: readonly (readonly [rule: string, module: string, text: string])[] = [
  ["downward-from-embedded-postgres", "packages/embedded-postgres/src/up.ts", 'import "@gatehouse/contract/data";'],
  ["downward-from-addresses", `${addresses}/up.ts`, 'import "@gatehouse/contract/data";'],
  ["downward-from-contract", `${contract}/up.ts`, 'import "@gatehouse/policy/decisions/decide";'],
  ["downward-from-agent-protocol", `${protocol}/up.ts`, 'import "@gatehouse/policy/decisions/decide";'],
  ["downward-from-policy", `${policy}/up.ts`, 'import "@gatehouse/server/platform/clock";'],
  ["downward-from-server", `${server}/platform/up.ts`, 'import "@gatehouse/cli/main";'],
  ["downward-from-cli", "packages/cli/src/up.ts", 'import "../../../bench/src/load.ts";'],
  ["downward-from-bench", "bench/src/up.ts", 'import "../../packaging/src/release.ts";'],
  ["client-stands-alone", `${client}/contract.ts`, 'import type {} from "@gatehouse/contract/data";'],
  ["client-stands-alone", `${client}/library.ts`, 'import "typebox";'],
  ["client-runs-in-browsers", `${client}/file.ts`, 'import "node:fs";'],
  ["server-knows-no-client", `${server}/tasks/call.ts`, 'import "@gatehouse/client/gatehouse";'],
  ["agents-share-the-core", `${gateway}/policies.ts`, 'import "@gatehouse/policy/decisions/decide";'],
  ["agents-share-the-core", `${device}/filters.ts`, 'import "@gatehouse/gateway/agent";'],
  ["agents-share-the-core", `${gateway}/filters.ts`, 'import "@gatehouse/device/run-device";'],
  ["agents-share-the-core", `${core}/agent.ts`, 'import "@gatehouse/gateway/agent";'],
  ["only-agents-use-the-core", `${server}/platform/agent.ts`, 'import "@gatehouse/gateway/agent";'],
  ["only-agents-use-the-core", `${server}/platform/log.ts`, 'import "@gatehouse/agent-core/clock";'],
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
  ["pure-packages", `${policy}/clock.ts`, 'import "node:fs";'],
  ["pure-packages", `${contract}/random.ts`, 'import "crypto";'],
  ["pure-packages", `${protocol}/random.ts`, 'import "crypto";'],
  ["pure-packages", `${addresses}/net.ts`, 'import "node:net";'],
  ["addresses-need-nothing", `${addresses}/library.ts`, 'import "typebox";'],
  ["contract-is-data", `${contract}/library.ts`, 'import "fastify";'],
  ["contract-is-data", `${protocol}/library.ts`, 'import "fastify";'],
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
  [
    "agent-identity-needs-only-the-platform",
    `${server}/agent-identity/key.ts`,
    'import "../agents/gateways/gateway.ts";',
  ],
  ["features-know-no-agents", `${features}/groups/groups.rules.ts`, 'import "../../agents/gateways/gateway.ts";'],
  ["agent-channel-knows-no-agent-kind", `${server}/agents/channel/frame-reader.ts`, 'import "../gateways/gateway.ts";'],
  ["agent-kinds-stand-apart", `${server}/agents/devices/device.ts`, 'import "../gateways/gateway.ts";'],
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

/** Two folders that depend on each other, although none of their files do. */
const knot = [`${features}/devices`, `${features}/tenants`];

const besides = {
  // The other half of the file cycle, which is reported once.
  [`${policy}/two.ts`]: 'import type { One } from "./one.ts"; export type Two = One;',
  [`${features}/devices/devices.api.ts`]: 'import "../tenants/tenants.api.ts";',
  [`${features}/tenants/tenants.api.ts`]: "",
  [`${features}/tenants/tenants.commands.ts`]: 'import "../devices/device-token.api.ts";',
  [`${features}/devices/device-token.api.ts`]: "",
};

/** Modules with permitted imports. */
const permitted: Readonly<Record<string, string>> = {
  [`${contract}/data.ts`]: 'import "typebox";',
  [`${policy}/decisions/decide.ts`]: 'import "@gatehouse/contract/data";',
  [`${addresses}/ranges.ts`]: "",
  [`${protocol}/frames.ts`]:
    'import "typebox"; import "@gatehouse/contract/data"; import "@gatehouse/addresses/ranges";',
  [`${core}/clock.ts`]:
    'import "@gatehouse/agent-protocol/frames"; import "@gatehouse/addresses/ranges"; import "node:fs";',
  [`${gateway}/agent.ts`]:
    'import "@gatehouse/agent-protocol/frames"; import "@gatehouse/agent-core/clock"; import "node:fs";',
  [`${device}/run-device.ts`]:
    'import "@gatehouse/contract/data"; import "@gatehouse/agent-core/clock"; import "./tunnel.ts";',
  [`${device}/tunnel.ts`]: "",
  [`${policy}/decisions/decide.test.ts`]: 'import "node:fs"; import "./decide.ts";',
  [`${policy}/testing/cases.ts`]: 'import "node:fs"; import "../decisions/decide.ts";',
  [`${server}/platform/clock.ts`]: 'import "@gatehouse/policy/decisions/decide"; import "node:timers";',
  [`${server}/platform/db/database.ts`]: 'import "pg";',
  [`${server}/http/route.ts`]: 'import "fastify"; import "../platform/clock.ts";',
  [`${features}/users/users.queries.ts`]: 'import "pg"; import "../groups/groups.api.ts";',
  [`${features}/users/users.api.ts`]: 'export * from "./users.queries.ts";',
  [`${features}/users/users.routes.ts`]: 'import "../../http/route.ts";',
  [`${features}/groups/groups.queries.ts`]: 'import "../../platform/db/database.ts";',
  [`${features}/groups/groups.api.ts`]: 'import "./groups.queries.ts"; import type {} from "../../http/route.ts";',
  [`${features}/groups/groups.test.ts`]:
    'import "pg"; import "../users/users.queries.ts"; import "../../testing/server.ts";',
  [`${server}/agents/channel/connection-gate.ts`]: 'import "../../platform/clock.ts";',
  [`${server}/agents/gateways/gateway.ts`]:
    'import "../channel/connection-gate.ts"; import "../../features/users/users.api.ts";',
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
  "packaging/src/release.ts": 'import "node:fs"; import "@gatehouse/cli/main";',
};

const workspaces = [
  "addresses",
  "contract",
  "agent-protocol",
  "agent-core",
  "policy",
  "server",
  "client",
  "cli",
  "gateway",
  "device",
  "console",
];

const sources = ["packages", "bench", "packaging"];

interface Violation {
  readonly from: string;
  readonly rule: { readonly name: string };
}

let folder: string;
let violations: readonly Violation[];
let modules: readonly CruisedModule[];

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
  for (const name of workspaces) {
    const place = path.join(folder, "packages", name);
    const manifest = JSON.parse(await readFile(path.join(root, "packages", name, "package.json"), "utf8"));
    // Every module is exported: the rules must fire for all modules, not only for those of the public API.
    const exports = { "./*": { "gatehouse-source": "./src/*.ts" } };
    await writeFile(path.join(place, "package.json"), JSON.stringify({ ...manifest, exports }));
    await symlink(place, path.join(folder, "node_modules/@gatehouse", name));
  }
  for (const name of ["pg", "fastify", "typebox", "openapi-fetch"]) {
    await symlink(path.join(root, "node_modules", name), path.join(folder, "node_modules", name));
  }
  const output = await runTool("depcruise", ["--config", config, "--output-type", "json", ...sources], folder);
  const cruised = JSON.parse(output);
  ({ violations } = cruised.summary);
  ({ modules } = cruised);
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the import rules", () => {
  test.each(broken)("%s: %s is reported", (rule, module) => {
    const reported = violations.filter(({ from }) => from === module).map(({ rule: { name } }) => name);
    expect(reported).toContain(rule);
  });

  test.each(Object.keys(permitted))("%s is permitted", (module) => {
    expect(violations.filter(({ from }) => from === module)).toEqual([]);
  });

  test("each have a module that violates them", () => {
    const rules: { readonly forbidden: readonly { readonly name: string }[] } = require(config);
    const shown = broken.map(([rule]) => rule);
    expect(rules.forbidden.map(({ name }) => name).filter((name) => !shown.includes(name))).toEqual([]);
  });
});

test("two folders that depend on each other are reported, and folders outside the cycle are not", () => {
  const reported = folderCycles(modules).map(({ from }) => from);
  expect(reported).toEqual(expect.arrayContaining(knot));
  expect(reported).not.toContain(`${server}/platform/db`);
});

test("a folder depends on what its subfolders import, and tests do not count", () => {
  const module = (source: string, ...imported: string[]) => ({
    source,
    dependencies: imported.map((resolved) => ({ resolved })),
  });
  const between = (...listed: CruisedModule[]) => folderCycles(listed).map(({ from, to }) => `${from} ${to}`);
  const up = module("packages/a/src/low/deep/one.ts", "packages/a/src/high/two.ts");
  const down = module("packages/a/src/high/two.ts", "packages/a/src/low/three.ts");
  expect(between(up, down)).toEqual([
    "packages/a/src/low packages/a/src/high",
    "packages/a/src/high packages/a/src/low",
  ]);
  const inside = module("packages/a/src/low/three.ts", "packages/a/src/low/deep/one.ts");
  expect(between(inside, module("packages/a/src/high/two.ts", "packages/a/src/low/deep/one.ts"))).toEqual([]);
  expect(between({ ...up, source: "packages/a/src/low/one.test.ts" }, down)).toEqual([]);
  const helper = "packages/a/src/testing/one.ts";
  expect(between({ ...up, source: helper }, module("packages/a/src/high/two.ts", helper))).toEqual([]);
});

test("the check of this repository reports both, and fails", async () => {
  const check = path.join(root, "tools/check-boundaries.mjs");
  const { code, text } = await new Promise<{ code: unknown; text: string }>((resolve) => {
    execFile(process.execPath, [check], { cwd: folder }, (error, stdout) =>
      resolve({ code: error?.code, text: stdout }),
    );
  });
  expect(text).toContain(`no-cycles: ${policy}/`);
  expect(text).toContain(`error folder-cycle: ${knot[0]} → ${knot[1]}`);
  expect(code).toBe(1);
});
