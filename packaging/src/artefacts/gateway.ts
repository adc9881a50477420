import path from "node:path";
import { helpOfText } from "../pages/command-help.ts";
import { runProgram } from "../run-program.ts";
import type { Artefact } from "./artefact.ts";

const main = "packages/gateway/dist/main.js";

/** The agent of a gateway. */
export const gateway: Artefact = {
  name: "gatehouse-gateway",
  isAgent: true,
  section: "net",
  summary: "gateway agent of Gatehouse",
  description: [
    "The agent makes this machine a gateway of a Gatehouse control plane. It terminates the WireGuard tunnels of devices, forwards only what a signed configuration allows, and drops everything else.",
    "The package enables forwarding. The service starts when /etc/gatehouse/gateway.conf names the control plane and /etc/gatehouse/gateway-token has the gateway's token.",
  ],
  image: { includes: ["wireguard-tools", "nftables", "iproute2", "conntrack"] },
  application: { entries: [main], assets: [] },
  main,
  // Certificate authorities that the machine trusts, besides those of Node.js.
  nodeOptions: ["--use-system-ca"],
  environmentFile: undefined,
  includesPostgres: false,
  depends: ["wireguard-tools", "nftables", "iproute2", "conntrack"],
  recommends: ["ca-certificates"],
  service: {
    unit: "gatehouse-gateway",
    sysusers: undefined,
    sysctl: "90-gatehouse-gateway.conf",
    purged: [
      "/etc/gatehouse/gateway-token",
      "/var/lib/gatehouse-gateway",
      "/var/lib/private/gatehouse-gateway",
      "/run/gatehouse-gateway",
      "/run/private/gatehouse-gateway",
    ],
  },
  files: [
    { path: "etc/gatehouse/gateway.conf", source: "packages/gateway/systemd/gateway.conf" },
    {
      path: "usr/lib/systemd/system/gatehouse-gateway.service",
      source: "packages/gateway/systemd/gatehouse-gateway.service",
    },
    {
      path: "usr/lib/sysctl.d/90-gatehouse-gateway.conf",
      source: "packages/gateway/systemd/90-gatehouse-gateway.conf",
    },
  ],
  manualFiles: [
    { path: "/etc/gatehouse/gateway.conf", description: "Address of the control plane, and options of the service." },
    { path: "/etc/gatehouse/gateway-token", description: "The gateway's token." },
    { path: "/var/lib/gatehouse-gateway", description: "Keys, and the last valid configuration." },
    { path: "/run/gatehouse-gateway", description: "A copy of the last valid configuration, in memory." },
  ],
  seeAlso: ["gatehouse(1)", "wg(8)", "nft(8)"],
  help: async (workspace) =>
    helpOfText("gatehouse-gateway", await runProgram(process.execPath, [path.join(workspace, main), "--help"])),
};
