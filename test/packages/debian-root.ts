/** A fresh Debian root, in which tests install packages as on a new machine. */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { inject } from "vitest";

/** Dependencies of the packages. Installing a package then needs no network. */
const included = [
  ...["ca-certificates", "systemd-standalone-sysusers", "libstdc++6", "libgcc-s1"],
  ...["wireguard-tools", "nftables", "iproute2", "conntrack"],
  // The other packages that docs/deployment.md installs or uses, and WireGuard for kernels without it.
  ...["curl", "sudo", "wireguard-go"],
];

/** Why no root can be made here; undefined if one can. */
export function rootObstacle(): string | undefined {
  if (process.getuid?.() !== 0) return "Packages are not installed: chroot needs root.";
  return missingPrograms(["mmdebstrap", "dpkg-deb", "unshare"]);
}

/** Why a test cannot run without the programs; undefined if it can. */
export function missingPrograms(names: readonly string[]): string | undefined {
  const missing = names.find((name) => spawnSync("which", [name]).status !== 0);
  return missing === undefined ? undefined : `Packages are not installed: ${missing} is missing.`;
}

export class DebianRoot {
  readonly folder: string;
  readonly #enter: readonly [string, ...string[]];

  private constructor(folder: string, enter: readonly [string, ...string[]]) {
    this.folder = folder;
    this.#enter = enter;
  }

  /**
   * Unpacks a root of Debian 12. The first call of a run downloads it.
   *
   * @param namespace the network namespace of its processes; this machine's network by default
   */
  static async make(namespace?: string): Promise<DebianRoot> {
    downloading ??= download();
    const archive = await downloading;
    const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-root-"));
    await must("tar", ["--extract", "--file", archive, "--directory", folder]);
    await mkdir(path.join(folder, "dev/net"), { recursive: true });
    await must("mknod", ["-m", "0666", path.join(folder, "dev/net/tun"), "c", "10", "200"]);
    return new DebianRoot(
      folder,
      namespace === undefined ? ["unshare"] : ["ip", "netns", "exec", namespace, "unshare"],
    );
  }

  /** Runs a command in the root, with processes of its own. @returns its output @throws Error if it fails */
  run(...command: readonly string[]): Promise<string> {
    const [program, ...args] = this.#inside(command);
    return must(program, args);
  }

  /** Starts a command in the root. It ends with the returned process. */
  start(...command: readonly string[]): ChildProcess {
    const [program, ...args] = this.#inside(command);
    return spawn(program, args, { stdio: "pipe" });
  }

  path(file: string): string {
    return path.join(this.folder, file);
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  #inside(command: readonly string[]): readonly [string, ...string[]] {
    const separate = ["--mount", "--pid", "--fork", "--kill-child", `--mount-proc=${this.path("proc")}`];
    const environment = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root"];
    const script = 'mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts" && exec chroot "$0" "$@"';
    return [
      ...this.#enter,
      ...separate,
      ...["sh", "-c", script, this.folder],
      ...environment,
      "DEBIAN_FRONTEND=noninteractive",
      ...command,
    ];
  }
}

/** Runs a program to its end. @returns its output @throws Error with its output, if it fails */
export function must(program: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, TMPDIR: "/var/tmp", ...environment };
    execFile(program, args, { env, maxBuffer: 64 * 1024 ** 2 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${args.join(" ")}: ${error.message}\n${stdout}${stderr}`));
    });
  });
}

let downloading: Promise<string> | undefined;

/** @returns an archive of the root */
async function download(): Promise<string> {
  const archive = path.join(inject("packagesFolder"), "debian-12.tar");
  await must("mmdebstrap", ["--variant=apt", `--include=${included.join(",")}`, "bookworm", archive]);
  return archive;
}
