/** A fresh Debian root, in which tests install packages as on a new machine. */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, inject, vi } from "vitest";
import { mountDevices } from "./own-devices.ts";

/** Dependencies of the packages. Installing a package then needs no network. */
const included = [
  ...["ca-certificates", "systemd-sysv", "dbus", "libstdc++6", "libgcc-s1"],
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

/**
 * Starts systemd as the first process of the root $0, separated from this machine, with its own device nodes. Kernel
 * parameters are read-only, except those of its network. Its cgroup has the name $1, and is the root of the hierarchy
 * that it sees.
 */
const bootScript = `
${mountDevices}
mount --bind "$0" "$0" && cd "$0"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount --bind proc/sys/net proc/sys/net
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mkdir "sys/fs/cgroup/$1" && echo $$ >"sys/fs/cgroup/$1/cgroup.procs"
umount sys/fs/cgroup
mount_devices dev
mkdir dev/pts dev/net
mknod -m 0666 dev/net/tun c 10 200
exec <dev/null >dev/null
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mkdir -p .outside && pivot_root . .outside
umount --lazy /.outside
# systemd mounts the credentials of units in their own namespace.
mount --make-rshared /
exec unshare --cgroup sh -ec 'mount -t cgroup2 cgroup2 /sys/fs/cgroup
  exec setpriv --bounding-set=-sys_time,-sys_module,-sys_rawio,-syslog \
    env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --show-status=no'`;

export class DebianRoot {
  readonly folder: string;
  readonly #enter: readonly [string, ...string[]];
  /** The first process, which is systemd. */
  #booted: ChildProcess | undefined;

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

  /** Starts systemd. Commands then run next to its services, until the root is removed. */
  async boot(): Promise<void> {
    // No console exists.
    await symlink("/dev/null", this.path("etc/systemd/system/console-getty.service"));
    const separate = ["--mount", "--pid", "--fork", "--uts", "--ipc", "--kill-child", "--propagation", "private"];
    const [program, ...args] = [...this.#enter, ...separate, "sh", "-ec", bootScript];
    const child = spawn(program, [...args, this.folder, this.#cgroup], { stdio: ["ignore", "ignore", "pipe"] });
    let printed = "";
    child.stderr?.on("data", (text) => {
      printed += String(text);
    });
    this.#booted = child;
    const state = () => this.run("systemctl", "is-system-running").catch((error: unknown) => `${error}\n${printed}`);
    await vi.waitFor(async () => expect(await state()).toBe("running\n"), { timeout: 240_000, interval: 500 });
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
    if (this.#booted !== undefined) {
      const closed = once(this.#booted, "close");
      if (this.#booted.exitCode === null && this.#booted.signalCode === null) {
        // The kernel also ends all other processes of the root, before the parent of the first one notices.
        await must("pkill", ["-KILL", "--parent", String(this.#booted.pid)]);
        await closed;
      }
      const script = 'mount -t cgroup2 cgroup2 "$0" && find "$0/$1" -depth -type d -exec rmdir {} +';
      await must("unshare", ["--mount", "sh", "-ec", script, this.path("mnt"), this.#cgroup]);
    }
    await rm(this.folder, { recursive: true, force: true });
    await checkMachine();
  }

  /** The cgroup of systemd. */
  get #cgroup(): string {
    return path.basename(this.folder);
  }

  #inside(command: readonly string[]): readonly [string, ...string[]] {
    const environment = [
      ...["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root"],
      "DEBIAN_FRONTEND=noninteractive",
    ];
    if (this.#booted !== undefined) {
      const script = 'exec nsenter --all --target "$(pgrep --parent "$0")" "$@"';
      return ["sh", "-c", script, String(this.#booted.pid), ...environment, ...command];
    }
    const separate = ["--mount", "--pid", "--fork", "--kill-child", `--mount-proc=${this.path("proc")}`];
    const script = 'mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts" && exec chroot "$0" "$@"';
    return [...this.#enter, ...separate, ...["sh", "-c", script, this.folder], ...environment, ...command];
  }
}

/** Fails if a program that ran as root changed devices or /tmp of this machine. */
export async function checkMachine(): Promise<void> {
  const described = async (file: string) => {
    const status = await stat(file);
    const mode = (status.mode & 0o7777).toString(8);
    return { isDevice: status.isCharacterDevice(), mode, owner: `${status.uid}:${status.gid}` };
  };
  const device = { isDevice: true, mode: "666", owner: "0:0" };
  expect({
    null: await described("/dev/null"),
    zero: await described("/dev/zero"),
    temporary: await described("/tmp"),
  }).toEqual({ null: device, zero: device, temporary: { isDevice: false, mode: "1777", owner: "0:0" } });
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
