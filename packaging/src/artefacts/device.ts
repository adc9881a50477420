import { createDeviceProgram } from "@gatehouse/cli/device-program";
import { helpOfCommand } from "../pages/command-help.ts";
import type { Artefact } from "./artefact.ts";

const main = "packages/cli/dist/device-main.js";

/** The agent of a device, with the command that enrols it. */
export const device: Artefact = {
  name: "gatehouse-device",
  isAgent: true,
  section: "net",
  summary: "device agent of Gatehouse",
  description: [
    "The agent makes this machine a device of a user. It connects the device over WireGuard to the gateways of a Gatehouse control plane, and follows every change.",
    "Enrol the machine with gatehouse-device enrol, and then start the service gatehouse-device.",
  ],
  image: undefined,
  application: { entries: [main], assets: [] },
  main,
  // Certificate authorities that the machine trusts, besides those of Node.js.
  nodeOptions: ["--use-system-ca"],
  environmentFile: undefined,
  includesPostgres: false,
  depends: ["wireguard-tools", "nftables", "iproute2"],
  recommends: ["ca-certificates"],
  service: {
    unit: "gatehouse-device",
    sysusers: undefined,
    sysctl: undefined,
    purged: ["/var/lib/gatehouse-device"],
  },
  files: [
    {
      path: "usr/lib/systemd/system/gatehouse-device.service",
      source: "packages/device/systemd/gatehouse-device.service",
    },
  ],
  manualFiles: [
    { path: "/var/lib/gatehouse-device", description: "The enrolment, keys, and the last valid configuration." },
  ],
  seeAlso: ["gatehouse(1)", "wg(8)"],
  help: async () => helpOfCommand(createDeviceProgram({ json: false, writeHelp: () => {} })),
};
