/** What the machine is, and whether the agent can do its work there. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { hostname, release, type } from "node:os";
import { join } from "node:path";
import { readIfThere } from "@gatehouse/agent-core/state/private-file";

export interface MachineFacts {
  readonly name: string;
  /** Undefined where the machine has no id that stays. */
  readonly hardwareId: string | undefined;
  readonly os: string;
  readonly osVersion: string;
}

export async function machineFacts(): Promise<MachineFacts> {
  const id = (await readIfThere("/etc/machine-id").catch(() => undefined))?.trim();
  const described = osRelease((await readIfThere("/etc/os-release").catch(() => undefined)) ?? "");
  return {
    name: hostname(),
    hardwareId: id === "" ? undefined : id,
    os: described.get("NAME") ?? type(),
    osVersion: described.get("VERSION_ID") ?? release(),
  };
}

/** os-release(5), without what only shells could make of it. */
export function osRelease(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, name, value = ""] = /^([A-Z_]+)=(.*)$/.exec(line.trim()) ?? [];
    if (name !== undefined) values.set(name, value.replace(/^(["'])(.*)\1$/, "$2"));
  }
  return values;
}

/** Such as `gatehouse-dev0`: at most 15 characters (the kernel), and nothing that a program could take for something else. */
export const deviceInterfacePattern = /^[a-z][a-z0-9-]{0,14}$/;

const folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const packageOf = { ip: "iproute2", wg: "wireguard-tools" } as const;
/** Of the capabilities, the bit of CAP_NET_ADMIN. */
const netAdmin = 12n;

/** @returns why the agent cannot run here, for people; undefined: nothing is known to be in the way */
export async function runObstacle(platform: string = process.platform): Promise<string | undefined> {
  if (platform !== "linux") {
    return "gatehouse device run needs Linux. Elsewhere take the file that gatehouse device config prints, for any WireGuard program.";
  }
  const missing = Object.entries(packageOf).filter(([program]) => !isInstalled(program));
  if (missing.length > 0) {
    return `Not installed: ${missing.map(([program, name]) => `${program} (package ${name})`).join(", ")}.`;
  }
  const status = await readFile("/proc/self/status", "utf8").catch(() => "");
  const capabilities = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? "0"}`);
  if (((capabilities >> netAdmin) & 1n) === 0n) {
    return "Interfaces and routes are for root, or with CAP_NET_ADMIN: run it with sudo, or as the systemd unit.";
  }
  if (!existsSync("/sys/module/wireguard") && !isInstalled("wireguard-go") && !existsSync("/lib/modules")) {
    return "The kernel has no WireGuard, and wireguard-go is not installed (package wireguard-go).";
  }
  return undefined;
}

function isInstalled(program: string): boolean {
  return folders.some((folder) => existsSync(join(folder, program)));
}
