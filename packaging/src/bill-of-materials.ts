/** A software bill of materials in the format of CycloneDX 1.6: exactly what one artefact includes. */
import { compare, type IncludedPackage } from "./application.ts";
import type { NpmArchive } from "./architectures.ts";
import type { IncludedProgram } from "./runtime.ts";

export interface BillOptions {
  readonly name: string;
  readonly version: string;
  /** Package URL of the artefact. */
  readonly purl: string;
  /** The time in seconds since 1970. */
  readonly time: number;
  readonly packages?: readonly IncludedPackage[];
  readonly programs?: readonly IncludedProgram[];
  /** Other components of the artefact. */
  readonly others?: readonly Included[];
  /** Hashes in the format of package-lock.json, by folder. */
  readonly integrity: ReadonlyMap<string, string>;
}

/** A component from elsewhere than npm. */
export interface Included {
  readonly name: string;
  readonly version: string;
  /** Its package URL. */
  readonly purl: string;
}

/** @param origin who distributes the package: `gatehouse` or `debian` */
export function debianPackage(origin: string, name: string, version: string, architecture: string): Included {
  return { name, version, purl: `pkg:deb/${origin}/${name}@${encodeURIComponent(version)}?arch=${architecture}` };
}

export function billOfMaterials(options: BillOptions): string {
  const { name, version, purl, time, packages = [], programs = [], others = [], integrity } = options;
  const components = [
    ...programs.map(({ archive }) => component(archive, undefined, archive.integrity)),
    ...packages.map((each) => component(each, each.license, integrity.get(each.folder))),
    ...others.map((each) => ({ type: "library", "bom-ref": each.purl, ...each })),
  ];
  const unique = new Map(components.map((each) => [each["bom-ref"], each]));
  const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(time * 1000).toISOString(),
      component: { type: "application", "bom-ref": purl, name, version, purl },
    },
    components: [...unique.values()].sort((one, other) => compare(one.purl, other.purl)),
    dependencies: [{ ref: purl, dependsOn: [...unique.keys()].sort() }],
  };
  return `${JSON.stringify(bill, undefined, 2)}\n`;
}

function component(
  { name, version }: Pick<NpmArchive, "name" | "version">,
  license: string | undefined,
  hash: string | undefined,
) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    purl,
    ...(hash?.startsWith("sha512-") === true
      ? { hashes: [{ alg: "SHA-512", content: Buffer.from(hash.slice("sha512-".length), "base64").toString("hex") }] }
      : {}),
    ...(license === undefined ? {} : { licenses: [licenseChoice(license)] }),
  };
}

/** An expression of SPDX, or the text that the package has instead, such as SEE LICENSE IN FILE. */
function licenseChoice(license: string) {
  return /^[\w.+()-]+( (AND|OR|WITH) [\w.+()-]+)*$/.test(license)
    ? { expression: license }
    : { license: { name: license } };
}
