/** A fresh Debian root, in which tests install packages as on a new machine. */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { access, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const cache = fileURLToPath(new URL("../../node_modules/.cache/gatehouse-packaging/", import.meta.url));
/** Dependencies of the packages. Installing a package then needs no network. */
const included = [
  ...["ca-certificates", "systemd-standalone-sysusers", "libstdc++6", "libgcc-s1"],
  ...["wireguard-tools", "nftables", "iproute2", "conntrack"],
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

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Unpacks a root of Debian 12. The first call on a machine downloads it. */
  static async make(): Promise<DebianRoot> {
    const archive = path.join(cache, "debian-12.tar");
    if (!(await exists(archive))) {
      await mkdir(cache, { recursive: true });
      const unfinished = `${archive}.unfinished.tar`;
      await must("mmdebstrap", ["--variant=apt", `--include=${included.join(",")}`, "bookworm", unfinished]);
      await rename(unfinished, archive);
    }
    const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-root-"));
    await must("tar", ["--extract", "--file", archive, "--directory", folder]);
    return new DebianRoot(folder);
  }

  /** Runs a command in the root, with processes of its own. @returns its output @throws Error if it fails */
  run(...command: readonly string[]): Promise<string> {
    return must("unshare", this.#inside(command));
  }

  /** Starts a command in the root. It ends with the returned process. */
  start(...command: readonly string[]): ChildProcess {
    return spawn("unshare", this.#inside(command), { stdio: ["ignore", "pipe", "pipe"] });
  }

  path(file: string): string {
    return path.join(this.folder, file);
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  #inside(command: readonly string[]): readonly string[] {
    const separate = ["--mount", "--pid", "--fork", "--kill-child", `--mount-proc=${this.path("proc")}`];
    const environment = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root"];
    return [...separate, "chroot", this.folder, ...environment, "DEBIAN_FRONTEND=noninteractive", ...command];
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

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
