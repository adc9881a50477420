import { createProgram } from "@gatehouse/cli/program";
import { helpOfCommand } from "../pages/command-help.ts";
import { settingsFile } from "../settings-file.ts";
import type { Artefact } from "./artefact.ts";

/** The server with its console, its command line and its own PostgreSQL. */
export const gatehouse: Artefact = {
  name: "gatehouse",
  isAgent: false,
  section: "net",
  summary: "control plane for Zero Trust network access",
  description: [
    "Gatehouse decides who may reach which resource, and configures the gateways that enforce it. This package contains the server, its web console, the command gatehouse, and a PostgreSQL for a single machine.",
    "The service starts after the installation, on http://127.0.0.1:8080. Its settings are in /etc/gatehouse/gatehouse.conf.",
  ],
  image: { includes: [] },
  application: {
    // Started by its path, as a thread.
    entries: ["packages/cli/dist/main.js", "packages/server/dist/platform/outbound/request-thread.js"],
    assets: [
      { folder: "packages/server/src/migrations", files: /\.sql$/ },
      { folder: "packages/console/dist", files: /^[^.].*$/ },
      {
        folder: "node_modules/swagger-ui-dist",
        files: /^(package\.json|swagger-ui\.css|swagger-ui-bundle\.js|favicon-32x32\.png)$/,
      },
    ],
  },
  main: "packages/cli/dist/main.js",
  // The last one: certificate authorities that the machine trusts, besides those of Node.js.
  nodeOptions: ["--max-semi-space-size=4", "--heap-growing-percent=125", "--use-system-ca"],
  environmentFile: "/etc/gatehouse/gatehouse.conf",
  includesPostgres: true,
  depends: ["systemd | systemd-standalone-sysusers"],
  recommends: ["ca-certificates", "gatehouse-agents"],
  service: {
    unit: "gatehouse",
    sysusers: "gatehouse.conf",
    sysctl: undefined,
    purged: ["/var/lib/gatehouse"],
  },
  files: [
    { path: "etc/gatehouse/gatehouse.conf", content: settingsFile(), mode: 0o640 },
    { path: "usr/lib/systemd/system/gatehouse.service", source: "packages/server/systemd/gatehouse.service" },
    { path: "usr/lib/sysusers.d/gatehouse.conf", source: "packages/server/systemd/gatehouse.sysusers.conf" },
  ],
  manualFiles: [
    { path: "/etc/gatehouse/gatehouse.conf", description: "Settings of the service, which commands of root also use." },
    { path: "/var/lib/gatehouse", description: "The master key and the database. Purging the package deletes both." },
    { path: "/var/lib/gatehouse/first-keys", description: "Keys and links that the first start created." },
  ],
  seeAlso: ["gatehouse-gateway(1)", "gatehouse-device(1)"],
  help: async () => helpOfCommand(createProgram({ json: false, writeHelp: () => {} })),
};
