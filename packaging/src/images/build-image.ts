/**
 * Builds container images without a daemon: a minimal Debian, a package of Gatehouse, and a file in `packaging/images`
 * that says how to run it.
 */
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { debianPackage, type Included } from "../bill-of-materials.ts";
import { runProgram } from "../run-program.ts";
import { writeImageArchive } from "./image-archive.ts";

export interface ImageOptions {
  /** Name of the package, the image, its Containerfile and its health check. */
  readonly name: string;
  readonly summary: string;
  /** Debian's name of the architecture. */
  readonly architecture: string;
  /** The Debian package to install. */
  readonly packageFile: string;
  /** Further packages of Debian. */
  readonly includes: readonly string[];
  readonly workspace: string;
  readonly version: string;
  /** Time of all files, in seconds since 1970. */
  readonly time: number;
  /** Level of gzip, 0 to 9. */
  readonly compression: number;
  /** Folder to write to. */
  readonly output: string;
}

/** Release of Debian in the images. */
const release = "bookworm";
/** Libraries of Node.js and PostgreSQL, and a shell for the commands of the packages. */
const base = ["libc6", "libgcc-s1", "libstdc++6", "dash", "coreutils"];
/** The unprivileged user of the server. */
const user = 10_001;
/** Files of the package that only an installed system needs. */
const unneeded = ["etc/gatehouse", "usr/lib/systemd", "usr/lib/sysctl.d", "usr/lib/sysusers.d", "usr/share/lintian"];

export interface BuiltImage {
  /** An archive of docker save, compressed with gzip. */
  readonly file: string;
  /** The packages of Debian in the image. */
  readonly includes: readonly Included[];
}

export async function buildImage(options: ImageOptions): Promise<BuiltImage> {
  const { name, architecture, version, time, compression, output, workspace } = options;
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-image-"));
  const buildah = (...args: readonly string[]) =>
    runProgram("buildah", [
      ...["--storage-driver", "vfs", "--root", path.join(folder, "store"), "--runroot", path.join(folder, "run")],
      ...args,
    ]);
  try {
    const context = path.join(folder, "context");
    const included = await makeContext(context, options);
    const tag = `localhost/${name}:${version}`;
    await buildah(
      ...["build", "--isolation", "chroot", "--format", "docker", "--timestamp", String(time)],
      ...["--platform", `linux/${architecture}`, "--tag", tag, ...labels(options)],
      ...["--file", path.join(workspace, `packaging/images/${name}.Containerfile`), context],
    );
    const archive = path.join(folder, "image.tar");
    await buildah("push", tag, `docker-archive:${archive}:${tag}`);
    const file = path.join(output, `${name}_${version}_${architecture}.image.tar.gz`);
    await mkdir(path.join(folder, "archive"));
    await writeImageArchive(archive, { file, folder: path.join(folder, "archive"), time, compression });
    return { file, includes: included };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function makeContext(context: string, options: ImageOptions): Promise<readonly Included[]> {
  const { name, architecture, packageFile, includes, workspace, time } = options;
  const root = path.join(context, "root");
  await mkdir(root, { recursive: true });
  // New volumes get the owner and the mode of this folder. buildah preserves modes only inside a copied folder.
  const data = path.join(context, "data", name);
  await mkdir(data, { recursive: true });
  await chmod(data, 0o700);
  const healthCheck = path.join(workspace, `packaging/images/${name}.health-check.mjs`);
  await copyFile(healthCheck, path.join(context, "health-check.mjs"));
  const archive = path.join(context, "..", "root.tar");
  const list = path.join(context, "..", "archives");
  // Extracted packages need no emulation of other architectures, and run no scripts.
  await runProgram(
    "mmdebstrap",
    [
      ...["--variant=extract", `--architectures=${architecture}`, `--include=${[...base, ...includes].join(",")}`],
      ...[`--extract-hook=ls "$1/var/cache/apt/archives" > '${list}'`, release, archive],
    ],
    { environment: { SOURCE_DATE_EPOCH: String(time), LC_ALL: "C.UTF-8" } },
  );
  await runProgram("tar", ["--extract", "--file", archive, "--directory", root]);
  await rm(archive);
  await runProgram("dpkg-deb", ["--extract", packageFile, root]);
  for (const file of unneeded) await rm(path.join(root, file), { recursive: true, force: true });
  await writeAccounts(root);
  return includedIn(await readFile(list, "utf8"));
}

/** The packages in a list of archives, such as libc6_2.36-9_amd64.deb. A colon in a version is %3a. */
function includedIn(list: string): readonly Included[] {
  return [...list.matchAll(/^([^_\n]+)_([^_\n]+)_([^_\n]+)\.deb$/gm)].map(
    ([, name = "", version = "", architecture = ""]) =>
      debianPackage("debian", name, decodeURIComponent(version), architecture),
  );
}

/** Scripts of packages would make these files and folders. */
async function writeAccounts(root: string): Promise<void> {
  const accounts = `root:x:0:0:root:/root:/usr/sbin/nologin
gatehouse:x:${user}:${user}:Gatehouse:/var/lib/gatehouse:/usr/sbin/nologin
`;
  await mkdir(path.join(root, "etc"), { recursive: true });
  await writeFile(path.join(root, "etc/passwd"), accounts);
  await writeFile(path.join(root, "etc/group"), `root:x:0:\ngatehouse:x:${user}:\n`);
  // Node.js writes a line to standard error for each process if the folder of certificate authorities is missing.
  for (const folder of ["tmp", "run", "proc", "sys", "dev", "root", "etc/ssl/certs"]) {
    await mkdir(path.join(root, folder), { recursive: true });
  }
  await chmod(path.join(root, "tmp"), 0o1777);
}

function labels({ name, summary, version, time }: ImageOptions): readonly string[] {
  const values = {
    title: name,
    description: summary,
    version,
    licenses: "Apache-2.0",
    created: new Date(time * 1000).toISOString(),
  };
  return Object.entries(values).flatMap(([key, value]) => ["--label", `org.opencontainers.image.${key}=${value}`]);
}
