/** A release in a copy of this checkout, verified as docs/releasing.md says, and built again elsewhere. */
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { must } from "./debian-root.ts";
import {
  buildAgain,
  git,
  givenArtefacts,
  imagesObstacle,
  type Release,
  testedRelease,
  workspace,
} from "./tested-release.ts";

const hasImages = imagesObstacle() === undefined;

describe.skipIf(givenArtefacts !== undefined)("a release", () => {
  let release: Release;
  let checkout: string;
  let artefacts: string;
  let version: string;

  beforeAll(async () => {
    release = await testedRelease();
    ({ checkout, folder: artefacts, version } = release);
  }, 3_600_000);

  test("is one commit with the version and the changelog, and a tag", async () => {
    expect(await git(checkout, "log", "-1", "--format=%s")).toBe(`release: version ${version}\n`);
    expect(await git(checkout, "describe", "--tags", "--exact-match")).toBe(`v${version}\n`);
    expect(await git(checkout, "status", "--porcelain")).toBe("");
    const changelog = await readFile(path.join(checkout, "CHANGELOG.md"), "utf8");
    expect(changelog).toMatch(new RegExp(`^## \\[Unreleased\\]\\n\\n## \\[${version}\\] - \\d{4}-\\d\\d-\\d\\d$`, "m"));
  });

  test("has all artefacts, each with a bill of materials", async () => {
    const files = await readdir(artefacts);
    const machines = ["amd64", "arm64"];
    const debian = ["gatehouse", "gatehouse-gateway", "gatehouse-device"];
    const expected = [
      ...machines.flatMap((machine) => debian.map((name) => `${name}_${version}_${machine}.deb`)),
      `gatehouse-agents_${version}_all.deb`,
      ...(hasImages ? machines : []).flatMap((machine) =>
        debian.slice(0, 2).map((name) => `${name}_${version}_${machine}.image.tar.gz`),
      ),
      ...["client", "cli"].map((name) => `gatehouse-${name}-${version}.tgz`),
      ...["chart.tgz", "compose.yaml", "dashboard.json", "alerts.yaml"].map((end) => `gatehouse_${version}.${end}`),
    ];
    const bills = expected.map((file) => file.replace(/\.(deb|tar\.gz|tgz|yaml|json)$/, ".cdx.json"));
    expect(files.toSorted()).toEqual([...expected, ...bills, "SHA256SUMS", "SHA256SUMS.sig"].toSorted());
    for (const bill of bills) {
      expect(JSON.parse(await readFile(path.join(artefacts, bill), "utf8"))).toMatchObject({
        ...{ bomFormat: "CycloneDX", specVersion: "1.6" },
        metadata: { component: { version } },
      });
    }
  });

  test("is verified by the documented commands, which notice a change", async () => {
    const document = await readFile(path.join(workspace, "docs/releasing.md"), "utf8");
    const [, commands = ""] = /## Verify\n.*?```sh\n(.*?)```/s.exec(document) ?? [];
    expect(commands).toContain("SHA256SUMS.sig");
    const verify = (text: string) =>
      must("sh", ["-ec", `cd '${artefacts}'\n${text.replaceAll("../release-key.pub.pem", release.publicKey)}`]);
    const output = await verify(commands);
    const listed = (await readFile(path.join(artefacts, "SHA256SUMS"), "utf8")).trim().split("\n");
    expect(output).toContain("Signature Verified Successfully");
    expect(output.match(/: OK$/gm)).toHaveLength(listed.length);
    const file = path.join(artefacts, `gatehouse_${version}.alerts.yaml`);
    const content = await readFile(file);
    // Other test files use the artefacts.
    onTestFinished(() => writeFile(file, content));
    await writeFile(file, `${content}# changed\n`);
    await expect(verify(commands)).rejects.toThrow("alerts.yaml: FAILED");
  });

  test("is the same bytes when the tag is built in another folder, with another mask and time zone", async () => {
    const again = await buildAgain(release, { TZ: "Asia/Tokyo", LC_ALL: "C.UTF-8" }, "077");
    expect(await hashesOf(again)).toEqual(await hashesOf(artefacts));
  }, 3_600_000);
});

async function hashesOf(folder: string): Promise<Readonly<Record<string, string>>> {
  const hashes: [string, string][] = [];
  for (const file of (await readdir(folder)).sort()) {
    hashes.push([
      file,
      createHash("sha256")
        .update(await readFile(path.join(folder, file)))
        .digest("hex"),
    ]);
  }
  return Object.fromEntries(hashes);
}
