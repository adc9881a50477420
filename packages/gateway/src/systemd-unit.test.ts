/** The unit that installations copy, as systemd itself reads it; where there is no systemd, it is skipped. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const version = spawnSync("systemd-analyze", ["--version"], { encoding: "utf8" }).stdout?.match(
  /^systemd ([0-9]+)/,
)?.[1];
/** The first that looks at the security of a unit that is not installed. */
const canLook = Number(version ?? 0) >= 250;
if (!canLook) console.warn("The systemd unit is not checked: there is no systemd-analyze 250 or newer.");

describe.skipIf(!canLook)("the systemd unit", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gatehouse-unit-"));
  const file = path.join(folder, "gatehouse-gateway.service");
  beforeAll(() => {
    const unit = readFileSync(fileURLToPath(new URL("../systemd/gatehouse-gateway.service", import.meta.url)), "utf8");
    // A program that is on every machine: it is looked for.
    writeFileSync(file, unit.replace("/usr/bin/gatehouse-gateway", "/bin/true"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("is one without any complaint", () => {
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  test("gives the agent few rights: an exposure of 2.5 of 10 at most", () => {
    execFileSync("systemd-analyze", ["security", "--offline=true", "--no-pager", "--threshold=25", file]);
  });
});
