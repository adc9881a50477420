/** A container image without a container runtime: its root, run with its configuration and a read-only root. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { checkMachine, must } from "./debian-root.ts";
import { mountDevices } from "./own-devices.ts";

export interface ImageConfiguration {
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd?: readonly string[];
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
  readonly Volumes: Readonly<Record<string, unknown>>;
}

interface ImageFile {
  readonly architecture: string;
  readonly config: ImageConfiguration;
}

interface RunOptions {
  /** Environment variables besides those of the image. */
  readonly environment?: readonly string[];
}

export class ContainerImage {
  readonly tags: readonly string[];
  /** Debian's name of the architecture. */
  readonly architecture: string;
  readonly configuration: ImageConfiguration;
  readonly #folder: string;

  private constructor(folder: string, tags: readonly string[], { architecture, config }: ImageFile) {
    this.#folder = folder;
    this.tags = tags;
    this.architecture = architecture;
    this.configuration = config;
  }

  /** Unpacks an archive of docker save. */
  static async unpack(archive: string): Promise<ContainerImage> {
    const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-image-test-"));
    await must("tar", ["--extract", "--file", archive, "--directory", folder]);
    const read = async (file: string): Promise<unknown> => JSON.parse(await readFile(path.join(folder, file), "utf8"));
    // The format of docker save.
    const [manifest] = (await read("manifest.json")) as { Config: string; RepoTags: string[]; Layers: string[] }[];
    if (manifest === undefined) throw new Error(`${archive} has no image.`);
    const root = path.join(folder, "root");
    await mkdir(root);
    for (const layer of manifest.Layers) {
      await must("tar", ["--extract", "--file", path.join(folder, layer), "--directory", root]);
    }
    const file = (await read(manifest.Config)) as ImageFile; // the format of docker save
    return new ContainerImage(folder, manifest.RepoTags, file);
  }

  path(file: string): string {
    return path.join(this.#folder, "root", file);
  }

  /** Starts a command with the user, environment and folder of the image. Only volumes and /tmp can be written. */
  start(command: readonly string[], { environment = [] }: RunOptions = {}): ChildProcess {
    return spawn("unshare", this.#inside(command, environment), { stdio: ["ignore", "pipe", "pipe"] });
  }

  /** Runs a command to its end. @returns its output @throws Error if it fails */
  run(command: readonly string[], { environment = [] }: RunOptions = {}): Promise<string> {
    return must("unshare", this.#inside(command, environment));
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
    await checkMachine();
  }

  #inside(command: readonly string[], environment: readonly string[]): readonly string[] {
    const { Env, User, WorkingDir, Volumes } = this.configuration;
    const [uid = "0", gid = uid] = (User || "0:0").split(":");
    const root = path.join(this.#folder, "root");
    const script = `
${mountDevices}
mount --bind '${root}' '${root}'
${Object.keys(Volumes)
  .map((volume) => `mount --bind '${root}${volume}' '${root}${volume}'`)
  .join("\n")}
mount --bind -o remount,ro,bind '${root}'
mount -t proc proc '${root}/proc'
mount -t tmpfs -o mode=1777 tmpfs '${root}/tmp'
mount_devices '${root}/dev'
exec chroot --userspec=${uid}:${gid} --groups=${gid} '${root}' "$@" <'${root}/dev/null'`;
    return [
      ...["--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-ec", script, "sh"],
      ...["/usr/bin/env", "-i", `--chdir=${WorkingDir || "/"}`, ...Env, ...environment, ...command],
    ];
  }
}
