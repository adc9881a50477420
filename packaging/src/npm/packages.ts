import { gatehouse } from "../artefacts/gatehouse.ts";
import type { NpmPackage } from "./npm-package.ts";

/** The typed client of the API. */
const client: NpmPackage = {
  folder: "packages/client",
  archive: "gatehouse-client",
  description: "Typed client for the HTTP API of Gatehouse, a control plane for Zero Trust network access",
  keywords: ["gatehouse", "ztna", "zero-trust", "api-client"],
  application: {
    entries: ["packages/client/dist/gatehouse.js", "packages/client/dist/errors.js"],
    assets: [{ folder: "packages/client/dist", files: /\.(js|d\.ts)$/ }],
  },
  isLibrary: true,
};

/** The commands, with the server. */
const cli: NpmPackage = {
  folder: "packages/cli",
  archive: "gatehouse-cli",
  description: "Command line and server of Gatehouse, a control plane for Zero Trust network access",
  keywords: ["gatehouse", "ztna", "zero-trust", "wireguard", "cli"],
  application: {
    entries: [...gatehouse.application.entries, "packages/cli/dist/device-main.js"],
    assets: [
      // Assets of other packages make these dependencies.
      ...gatehouse.application.assets,
      { folder: "packages/cli/bin", files: /\.js$/ },
    ],
  },
  isLibrary: false,
};

export const npmPackages: readonly NpmPackage[] = [client, cli];
