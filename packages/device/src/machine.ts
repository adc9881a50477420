import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { hostname, release, type } from "node:os";
import { join } from "node:path";
import { readIfExists } from "@gatehouse/agent-core/state/private-file";

export interface MachineFacts {
  readonly name: string;
  /** Undefined if the machine has no permanent id. */
  readonly hardwareId: string | undefined;
  readonly os: string;
  readonly osVersion: string;
}

export async function machineFacts(): Promise<MachineFacts> {
  const id = (await readIfExists("/etc/machine-id").catch(() => undefined))?.trim();
  const described = osRelease((await readIfExists("/etc/os-release").catch(() => undefined)) ?? "");
  return {
    name: hostname(),
    hardwareId: id === "" ? undefined : id,
    os: described.get("NAME") ?? type(),
    osVersion: described.get("VERSION_ID") ?? release(),
  };
}

/** Parses os-release(5), without shell expansions. */
export function osRelease(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, name, value = ""] = /^([A-Z_]+)=(.*)$/.exec(line.trim()) ?? [];
    if (name !== undefined) values.set(name, value.replace(/^(["'])(.*)\1$/, "$2"));
  }
  return values;
}

/**
 * Names such as `gatehouse-dev0`: at most 15 characters, the kernel's limit, and none that another program could
 * misread.
 */
export const deviceInterfacePattern = /^[a-z][a-z0-9-]{0,14}$/;

const folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const packageOf = { ip: "iproute2", wg: "wireguard-tools" } as const;
/** The bit of CAP_NET_ADMIN. */
const netAdmin = 12n;

/** Returns why the agent cannot run on this machine, for people; undefined: no obstacle is known. */
export async function runObstacle(platform: string = process.platform): Promise<string | undefined> {
  if (platform !== "linux") {
    return "gatehouse device run requires Linux. On other systems, add the device on /my/ and use a WireGuard app.";
  }
  const missing = Object.entries(packageOf).filter(([program]) => !isInstalled(program));
  if (missing.length > 0) {
    return `Not installed: ${missing.map(([program, name]) => `${program} (package ${name})`).join(", ")}.`;
  }
  const status = await readFile("/proc/self/status", "utf8").catch(() => "");
  const capabilities = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? "0"}`);
  if (((capabilities >> netAdmin) & 1n) === 0n) {
    return "The agent needs CAP_NET_ADMIN for interfaces and routes. Run it with sudo, or use the systemd unit.";
  }
  if (!existsSync("/sys/module/wireguard") && !isInstalled("wireguard-go") && !existsSync("/lib/modules")) {
    return "The kernel does not support WireGuard. Install wireguard-go (package wireguard-go).";
  }
  return undefined;
}

function isInstalled(program: string): boolean {
  return folders.some((folder) => existsSync(join(folder, program)));
}
