/**
 * A container host: podman with its own storage, network, devices and processes. Nothing of it reaches this machine,
 * and everything ends with it.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { checkMachine, missingPrograms, must } from "./debian-root.ts";
import { mountDevices } from "./own-devices.ts";

/** Prints a line when the host is ready, and then only keeps the namespaces. Containers are in memory. */
const hostScript = `
${mountDevices}
mount_devices /dev
mkdir /dev/pts
mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts
ln -s pts/ptmx /dev/ptmx
for link in fd:/proc/self/fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do ln -s "\${link#*:}" "/dev/\${link%%:*}"; done
mount -t proc proc /proc
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /var/lib/containers
ip link set lo up
echo ready
exec sleep infinity </dev/null >/dev/null 2>&1`;

/** No systemd runs on the host, and no cgroup is created outside it. */
const settings = `[containers]
cgroups = "disabled"
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
`;

/** Why no container host can be started here; undefined if one can. */
export function containerHostObstacle(): string | undefined {
  const missing = missingPrograms(["podman", "podman-compose", "crun", "unshare", "nsenter"]);
  if (missing !== undefined) return missing;
  const { status } = spawnSync("unshare", ["--mount", "--cgroup", "sh", "-c", "mount -t cgroup2 cgroup2 /mnt"]);
  return status === 0 ? undefined : "Containers are not started: the second version of cgroups is missing.";
}

export class ContainerHost {
  /** A folder of this machine that commands start in. */
  readonly folder: string;
  readonly #child: ChildProcess;

  private constructor(folder: string, child: ChildProcess) {
    this.folder = folder;
    this.#child = child;
  }

  static async start(): Promise<ContainerHost> {
    const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-containers-"));
    await writeFile(path.join(folder, "containers.conf"), settings);
    const separate = ["--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--propagation", "private"];
    const child = spawn("unshare", [...separate, "--fork", "--kill-child", "sh", "-ec", hostScript], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const host = new ContainerHost(folder, child);
    const ended = once(child, "close").then(() => {
      throw new Error("The container host ended.");
    });
    await Promise.race([once(child.stdout, "data"), ended]);
    ended.catch(() => {});
    return host;
  }

  /** Runs shell commands in the folder, as root of the host. @returns their output @throws Error if one fails */
  run(commands: string): Promise<string> {
    const enter = 'exec nsenter --all --target "$(pgrep --parent "$0")" env -i "$@"';
    const environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"];
    const configuration = `CONTAINERS_CONF=${path.join(this.folder, "containers.conf")}`;
    return must("sh", [
      ...["-c", enter, String(this.#child.pid), ...environment, configuration],
      ...["sh", "-ec", `cd '${this.folder}'\n${commands}`],
    ]);
  }

  /** Ends all containers. */
  async remove(): Promise<void> {
    const closed = once(this.#child, "close");
    this.#child.kill("SIGKILL");
    await closed;
    await rm(this.folder, { recursive: true, force: true });
    await checkMachine();
  }
}

/** Commands for docker as docs/deployment.md says to write them for podman. */
export function withPodman(commands: string): string {
  return commands
    .replaceAll("docker compose exec", "podman-compose exec -T")
    .replaceAll("docker compose", "podman-compose")
    .replaceAll("docker", "podman")
    .replaceAll(" --wait", "");
}
