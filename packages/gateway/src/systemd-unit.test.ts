/** Checks the systemd unit with systemd itself. Without systemd, the test is skipped. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const version = spawnSync("systemd-analyze", ["--version"], { encoding: "utf8" }).stdout?.match(
  /^systemd ([0-9]+)/,
)?.[1];
/** Version 250 is the first that checks the security of a unit that is not installed. */
const canCheck = Number(version ?? 0) >= 250;
if (!canCheck) console.warn("The systemd unit is not checked: systemd-analyze 250 or newer is not installed.");

describe.skipIf(!canCheck)("the systemd unit", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gatehouse-unit-"));
  const file = path.join(folder, "gatehouse-gateway.service");
  beforeAll(() => {
    const unit = readFileSync(fileURLToPath(new URL("../systemd/gatehouse-gateway.service", import.meta.url)), "utf8");
    // systemd checks that the program exists, so the unit names one that every machine has.
    writeFileSync(file, unit.replace("/usr/bin/gatehouse-gateway", "/bin/true"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("is valid", () => {
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  test("grants few rights: an exposure of at most 2.5 of 10", () => {
    execFileSync("systemd-analyze", ["security", "--offline=true", "--no-pager", "--threshold=25", file]);
  });
});
