/** Checks the systemd units of the packages with systemd itself. Without systemd, the tests are skipped. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { artefacts } from "../artefacts/all.ts";

const workspace = fileURLToPath(new URL("../../../", import.meta.url));
const version = spawnSync("systemd-analyze", ["--version"], { encoding: "utf8" }).stdout?.match(
  /^systemd ([0-9]+)/,
)?.[1];
/** Version 250 is the first that checks the security of a unit that is not installed. */
const canCheck = Number(version ?? 0) >= 250;
if (!canCheck) console.warn("The systemd units are not checked: systemd-analyze 250 or newer is not installed.");

/** The text of an artefact's unit; undefined if it has none. */
function unitOf({ name, files }: (typeof artefacts)[number]): string | undefined {
  const unit = files.find((each) => each.path === `usr/lib/systemd/system/${name}.service`);
  return unit === undefined || !("source" in unit)
    ? undefined
    : readFileSync(path.join(workspace, unit.source), "utf8");
}

test.each(["gatehouse-gateway", "gatehouse-device"])("systemd restarts a hanging %s", (name) => {
  const lines = artefacts
    .filter((artefact) => artefact.name === name)
    .flatMap((artefact) => unitOf(artefact)?.split("\n") ?? []);
  expect(lines).toEqual(
    expect.arrayContaining(["Type=notify", "NotifyAccess=all", "WatchdogSec=120", "Restart=always"]),
  );
});

test("the gateway's copy of its configuration outlives the agent, and only the agent can read it", () => {
  const [text = ""] = artefacts.filter(({ name }) => name === "gatehouse-gateway").map((artefact) => unitOf(artefact));
  const lines = text.split("\n");
  expect(lines).toEqual(expect.arrayContaining(["RuntimeDirectoryMode=0700", "RuntimeDirectoryPreserve=yes"]));
  expect(lines.find((line) => line.startsWith("RuntimeDirectory="))?.split(/[= ]/)).toContain("gatehouse-gateway");
  expect(text).toContain("--runtime-folder %t/gatehouse-gateway ");
});

test("systemd waits until the server listens, however long its migrations take", () => {
  const lines = artefacts
    .filter(({ name }) => name === "gatehouse")
    .flatMap((artefact) => unitOf(artefact)?.split("\n") ?? []);
  expect(lines).toEqual(
    expect.arrayContaining(["Type=notify", "NotifyAccess=all", "TimeoutStartSec=infinity", "Restart=always"]),
  );
});

describe.skipIf(!canCheck).each(artefacts)("the unit of $name", (artefact) => {
  const { name } = artefact;
  const folder = mkdtempSync(path.join(tmpdir(), "gatehouse-unit-"));
  const file = path.join(folder, `${name}.service`);
  const text = unitOf(artefact) ?? "";
  // systemd checks that the program exists, so the unit names one that every machine has.
  writeFileSync(file, text.replace(`/usr/bin/${name}`, "/bin/true"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("is valid", () => {
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  test("grants few rights: an exposure of at most 2.5 of 10", () => {
    execFileSync("systemd-analyze", ["security", "--offline=true", "--no-pager", "--threshold=25", file]);
  });
});
