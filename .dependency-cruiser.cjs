/**
 * Import rules that enforce docs/architecture.md. `test/architecture/boundaries.test.ts` proves that each rule fires.
 */

const server = "^packages/server/src/";
/** Tests and test helpers may import anything. */
const tests = "\\.test\\.tsx?$|^packages/[^/]+/src/testing/|^test/";

/** @param {string} name the name of an npm package, installed or not */
const npmPackage = (name) => `(^|/)node_modules/(@types/)?${name}/|^${name}$`;

/** Each layer may import only the layers before it. */
const layers = [
  "packages/embedded-postgres",
  "packages/addresses",
  "packages/contract",
  "packages/agent-protocol",
  "packages/policy",
  "packages/server",
  "packages/cli",
  "bench",
  "packaging",
];

const downward = layers.slice(0, -1).map((layer, index) => ({
  name: `downward-from-${layer.replace("packages/", "")}`,
  comment:
    "Imports go downward only: embedded-postgres, addresses, contract, agent-protocol, policy, server, cli, bench, packaging.",
  severity: "error",
  from: { path: `^${layer}/` },
  to: { path: `^(${layers.slice(index + 1).join("|")})/` },
}));

/** The folders of the console. Each may import only the folders before it. */
const consoleFolders = ["messages", "app", "records", "lists", "pages"];

const consoleDownward = consoleFolders.slice(0, -1).map((folder, index) => ({
  name: `console-downward-from-${folder}`,
  comment: `The folders of the console form layers: ${consoleFolders.join(", ")}. main.tsx joins them.`,
  severity: "error",
  from: { path: `^packages/console/src/${folder}/` },
  to: { path: `^packages/console/src/(${consoleFolders.slice(index + 1).join("|")})/` },
}));

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    ...downward,
    {
      name: "client-stands-alone",
      comment: "The client is published alone. It depends on two small libraries and on no other workspace package.",
      severity: "error",
      from: { path: "^packages/client/src/", pathNot: tests },
      to: {
        path: ["^(packages|bench)/", "node_modules/"],
        pathNot: ["^packages/client/src/", npmPackage("openapi-fetch"), npmPackage("@streamparser/json")],
      },
    },
    {
      name: "client-runs-in-browsers",
      comment: "Browsers do not provide the modules of Node.js.",
      severity: "error",
      from: { path: "^packages/client/src/", pathNot: tests },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "server-knows-no-client",
      comment: "The client depends on the API. The server never depends on the client.",
      severity: "error",
      from: { path: "^packages/(contract|agent-protocol|policy|server)/src/", pathNot: tests },
      to: { path: "^packages/client/" },
    },
    {
      name: "agents-share-the-core",
      comment: "Both agents use the core, the protocol and addresses. Neither imports the other.",
      severity: "error",
      from: { path: "^packages/(agent-core|gateway|device)/src/", pathNot: tests },
      to: { path: "^(packages|bench)/", pathNot: "^packages/($1|addresses|contract|agent-protocol|agent-core)/" },
    },
    {
      name: "only-agents-use-the-core",
      comment: "The server and the agents share only the protocol and addresses.",
      severity: "error",
      from: { path: "^(packages|bench)/", pathNot: [tests, "^packages/(agent-core|gateway|device)/src/"] },
      to: { path: "^packages/(agent-core|gateway)/" },
    },
    {
      name: "only-the-command-line-knows-the-device",
      comment: "The device agent is a separate program, which `gatehouse device` starts.",
      severity: "error",
      from: { path: "^(packages|bench)/", pathNot: [tests, "^packages/(device|cli)/src/"] },
      to: { path: "^packages/device/" },
    },
    {
      name: "console-is-a-client",
      comment:
        "The console is an API client without privileges. It may import the client, and the listed modules of the contract.",
      severity: "error",
      from: { path: "^packages/console/src/", pathNot: tests },
      to: {
        path: "^(packages|bench)/",
        pathNot: [
          "^packages/console/",
          "^packages/client/src/",
          "^packages/contract/src/(permissions|event-types|deployment-snippets|records/(provider-presets|irrevertible))\\.ts$",
        ],
      },
    },
    {
      name: "console-runs-in-browsers",
      comment: "Browsers do not provide the modules of Node.js.",
      severity: "error",
      from: { path: "^packages/console/src/", pathNot: tests },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "nothing-needs-the-console",
      comment: "The server serves the built console and does not import it.",
      severity: "error",
      from: { path: "^(packages|bench)/", pathNot: "^packages/console/" },
      to: { path: "^packages/console/" },
    },
    {
      name: "pages-stand-apart",
      comment:
        "Pages do not import each other. Shared code belongs to records, lists or app. Exceptions: format-*.ts, and the first steps, which show the forms of other pages.",
      severity: "error",
      from: { path: "^packages/console/src/pages/([^/]+)/", pathNot: "^packages/console/src/pages/overview/steps/" },
      to: { path: "^packages/console/src/pages/", pathNot: ["^packages/console/src/pages/$1/", "/format-[^/]+\\.ts$"] },
    },
    ...consoleDownward,
    {
      name: "no-cycles",
      comment: "Modules do not import each other in a cycle. Merge them, or move the shared part to a third module.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "pure-packages",
      comment: "Pure packages have no clock and no I/O. Callers pass such values as arguments.",
      severity: "error",
      from: { path: "^packages/(addresses|contract|agent-protocol|policy)/src/", pathNot: tests },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "addresses-need-nothing",
      comment: "Every package may import addresses, so addresses imports nothing.",
      severity: "error",
      from: { path: "^packages/addresses/src/", pathNot: tests },
      to: { path: ["^(packages|bench)/", "node_modules/"], pathNot: "^packages/addresses/" },
    },
    {
      name: "contract-is-data",
      comment: "The contract and the agent protocol contain only schemas and pure functions.",
      severity: "error",
      from: { path: "^packages/(contract|agent-protocol)/src/", pathNot: tests },
      to: { path: "node_modules/", pathNot: npmPackage("typebox") },
    },
    {
      name: "database-only-in-queries",
      comment: "Only platform/db uses the driver, and only *.queries.ts contain SQL.",
      severity: "error",
      from: { path: "^(packages|bench)/", pathNot: [tests, `${server}platform/db/`, "\\.queries\\.ts$", "^bench/"] },
      to: { path: npmPackage("pg") },
    },
    {
      name: "fastify-only-in-http",
      comment: "Only http/ depends on Fastify. compose.ts may import its types.",
      severity: "error",
      from: { pathNot: [tests, `${server}http/`, `${server}compose\\.ts$`, "^bench/"] },
      to: { path: npmPackage("fastify") },
    },
    {
      name: "compose-names-fastify-as-a-type",
      comment: "http/ creates the Fastify app. compose.ts imports only types of Fastify.",
      severity: "error",
      from: { path: `${server}compose\\.ts$` },
      to: { path: npmPackage("fastify"), dependencyTypesNot: ["type-only"] },
    },
    {
      name: "features-through-their-api",
      comment: "Features use each other only through <noun>.api.ts.",
      severity: "error",
      from: { path: `${server}features/([^/]+)/`, pathNot: tests },
      to: { path: `${server}features/`, pathNot: [`${server}features/$1/`, "\\.api\\.ts$"] },
    },
    {
      name: "others-use-features-through-their-api",
      comment: "Code outside features uses them only through <noun>.api.ts. Only routes.ts imports their routes.",
      severity: "error",
      from: { path: "^packages/", pathNot: [tests, `${server}features/`, `${server}routes\\.ts$`] },
      to: { path: `${server}features/`, pathNot: "\\.api\\.ts$" },
    },
    {
      name: "platform-knows-no-feature",
      comment: "The platform does not import features, agents or http.",
      severity: "error",
      from: { path: `${server}platform/`, pathNot: tests },
      to: { path: server, pathNot: [`${server}platform/`, tests] },
    },
    {
      name: "agent-identity-needs-only-the-platform",
      comment: "Keys and tunnel addresses of agents are below features and agents, which both use them.",
      severity: "error",
      from: { path: `${server}agent-identity/`, pathNot: tests },
      to: { path: server, pathNot: [`${server}(platform|agent-identity)/`, tests] },
    },
    {
      name: "features-know-no-agents",
      comment: "Agents use features through <noun>.api.ts. Features do not import agents: folders have no cycles.",
      severity: "error",
      from: { path: `${server}features/`, pathNot: tests },
      to: { path: `${server}agents/` },
    },
    {
      name: "agent-channel-knows-no-agent-kind",
      comment: "The channel and device sources serve both kinds of agent. They import neither kind, and no feature.",
      severity: "error",
      from: { path: `${server}agents/(channel|sources)/`, pathNot: tests },
      to: {
        path: server,
        pathNot: [`${server}(platform|agent-identity)/`, `${server}agents/(channel|sources)/`, tests],
      },
    },
    {
      name: "agent-kinds-stand-apart",
      comment: "Code that gateways and devices share belongs to agents/channel, agents/sources or agent-identity.",
      severity: "error",
      from: { path: `${server}agents/(gateways|devices)/`, pathNot: tests },
      to: { path: `${server}agents/(gateways|devices)/`, pathNot: `${server}agents/$1/` },
    },
    {
      name: "http-knows-no-feature",
      comment: "http/ does not import features. Features pass it their routes.",
      severity: "error",
      from: { path: `${server}http/`, pathNot: tests },
      to: { path: server, pathNot: [`${server}(platform|http)/`, tests] },
    },
    {
      name: "features-know-http-as-routes",
      comment: "Only <noun>.routes.ts of a feature imports http/. Commands and queries do not depend on HTTP.",
      severity: "error",
      from: { path: `${server}features/`, pathNot: [tests, "\\.routes\\.ts$"] },
      to: { path: `${server}http/`, dependencyTypesNot: ["type-only"] },
    },
    {
      name: "tests-stay-outside",
      comment: "Product code does not import tests.",
      severity: "error",
      from: { pathNot: tests },
      to: { path: tests },
    },
    {
      name: "resolvable",
      comment: "An unresolved import escapes the other rules. The build output that a command imports may be missing.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true, pathNot: "^\\.\\./dist/[a-z-]+\\.js$" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // Build output of the workspace. The output of packages under node_modules is not excluded, so that rules see it.
    exclude: { path: "^(packages/[^/]+|bench|packaging)/dist/" },
    tsConfig: { fileName: "tsconfig.base.json" },
    // Type imports count as dependencies.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["gatehouse-source", "import", "node", "types", "default"],
      extensions: [".ts", ".tsx", ".css", ".svg", ".mjs", ".js", ".d.ts"],
    },
  },
};
