import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { run } from "./run.ts";
import { exampleConfiguration } from "./testing/example-configuration.ts";

describe("gatehouse-gateway", () => {
  let folder: string;
  let output: string;
  let errors: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "gatehouse-gateway-"));
    output = "";
    errors = "";
    vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      output += text;
      return true;
    });
    vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      errors += text;
      return true;
    });
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await rm(folder, { recursive: true, force: true });
  });

  async function fileWith(value: unknown): Promise<string> {
    const file = path.join(folder, "configuration.json");
    await writeFile(file, JSON.stringify(value));
    return file;
  }

  test("prints the commands with --dry-run, and changes nothing", async () => {
    const file = await fileWith(exampleConfiguration());
    expect(await run(["--dry-run", "--configuration", file, "--interface", "gh0"])).toBe(0);
    expect(output).toContain("nft -f -\nadd table inet gatehouse-gh0\n");
    expect(output).toContain("ip link add dev gh0 type wireguard\n");
    expect(output).toContain("wg set gh0 private-key wireguard.key\nwg set gh0 listen-port 51820\n");
    expect(output).toContain("wg addconf gh0 /dev/stdin\n[Peer]\n");
    expect(output).toContain("AllowedIPs = 100.64.0.1/32, fd64::1/128\n");
    expect(output).toContain("address replace 100.64.255.1/32 dev gh0\n");
    expect(output).toContain("route replace 100.64.0.0/10 dev gh0 proto 71 table main\n");
  });

  test("reports an invalid configuration", async () => {
    const file = await fileWith({ ...exampleConfiguration(), content: {} });
    expect(await run(["--dry-run", "--configuration", file])).toBe(1);
    expect(errors).toContain("does not match the schema");
  });

  test("does not repeat the password of a URL", async () => {
    expect(await run(["--url", "https://ann:letmein@gatehouse.example.com", "--token-file", "t"])).toBe(2);
    expect(errors).toContain("--url must be a URL");
    expect(errors).not.toContain("letmein");
  });

  test.each([
    [[], "--url and --token-file"],
    [["--dry-run", "--url", "http://127.0.0.1", "--token-file", "t"], "--dry-run requires --configuration"],
    [["--configuration", "c", "--interface", "a; reboot"], "letters and digits"],
    [["--configuration", "c", "--interface", "way-too-long-for-the-kernel"], "letters and digits"],
    [["--configuration", "c", "--signing-key", "short"], "not an Ed25519 key"],
    [["--url", "gatehouse.example.com", "--token-file", "t"], "--url must be a URL"],
    [["--url", "ftp://gatehouse.example.com", "--token-file", "t"], "--url must be a URL"],
    [["--url", "https://", "--token-file", "t"], "--url must be a URL"],
    [["--colour"], "Unknown option"],
  ])("refuses %j", async (args, message) => {
    expect(await run(args)).toBe(2);
    expect(errors).toContain(message);
  });
});
