/**
 * The release that the tests of the project examine: made once per run, in a copy of this checkout, by the command that
 * makes releases. The test files run one after the other in one process, so they share this module.
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { missingPrograms, must, rootObstacle } from "./debian-root.ts";

export const workspace = fileURLToPath(new URL("../../", import.meta.url));
/** Archives that the tests and `npm run package` download once. */
export const cache = path.join(workspace, "node_modules/.cache/gatehouse-packaging");

/** Folder of artefacts to test instead of a new release. */
export const givenArtefacts = process.env.GATEHOUSE_TEST_PACKAGES;
/** File with the release key of those artefacts. */
const givenKey = process.env.GATEHOUSE_TEST_PACKAGES_KEY;
/** Whether tests have the key that signed the tested artefacts. */
export const canSign = givenArtefacts === undefined || givenKey !== undefined;

/** Why images cannot be built here; undefined if they can. */
export function imagesObstacle(): string | undefined {
  return rootObstacle() ?? missingPrograms(["buildah"]);
}

export interface Artefacts {
  readonly folder: string;
  readonly version: string;
  /** File in PEM format, with the key that signed the repository of agents; undefined if it was not given. */
  readonly privateKey: string | undefined;
}

export interface Release extends Artefacts {
  /** The checkout with the commit of the release. */
  readonly checkout: string;
  /** Files in PEM format. */
  readonly privateKey: string;
  readonly publicKey: string;
  /** Options of `npm run package` besides the key. */
  readonly options: readonly string[];
}

/** A version that no checkout has, so that the release has to set it everywhere. */
const releasedVersion = "99.0.0";
const author = {
  ...{ GIT_AUTHOR_NAME: "Test", GIT_AUTHOR_EMAIL: "test@example.com" },
  ...{ GIT_COMMITTER_NAME: "Test", GIT_COMMITTER_EMAIL: "test@example.com" },
};

/** The artefacts to test: those in GATEHOUSE_TEST_PACKAGES, or those of the release. */
export async function testedArtefacts(): Promise<Artefacts> {
  if (givenArtefacts === undefined) return testedRelease();
  const [version] = (await readdir(givenArtefacts)).flatMap(
    (file) => /^gatehouse_(.+)\.chart\.tgz$/.exec(file)?.[1] ?? [],
  );
  if (version === undefined) throw new Error(`${givenArtefacts} has no artefacts.`);
  return { folder: givenArtefacts, version, privateKey: givenKey };
}

let releasing: Promise<Release> | undefined;

/** The release. The first caller waits for the build. */
export function testedRelease(): Promise<Release> {
  releasing ??= makeRelease();
  return releasing;
}

async function makeRelease(): Promise<Release> {
  const run = inject("packagesFolder");
  const checkout = path.join(run, "checkout");
  const obstacle = imagesObstacle();
  if (obstacle !== undefined) console.warn(`Images are not part of the tested release. ${obstacle}`);
  const options = ["--compression", "0", ...(obstacle === undefined ? ["--images"] : [])];
  const keys = await makeReleaseKey(path.join(run, "key"));
  await copyCheckout(checkout);
  await must(
    "npm",
    ["--prefix", checkout, "run", "release", "--", releasedVersion, "--key", keys.privateKey, ...options],
    author,
  );
  return { version: releasedVersion, checkout, folder: path.join(checkout, "dist/packages"), options, ...keys };
}

/** Builds the packages of the release again, from its tag. @returns the folder of the artefacts */
export async function buildAgain(release: Release, environment: NodeJS.ProcessEnv, mask: string): Promise<string> {
  const checkout = path.join(inject("packagesFolder"), "another place", "clone");
  await mkdir(path.dirname(checkout));
  await git(release.checkout, "clone", "--quiet", release.checkout, checkout);
  await git(checkout, "checkout", "--quiet", `v${release.version}`);
  await linkModules(checkout);
  const packaging = ["--prefix", checkout, "run", "package", "--", "--key", release.privateKey, ...release.options];
  await must("sh", ["-c", `umask ${mask} && exec npm "$@"`, "sh", ...packaging], environment);
  return path.join(checkout, "dist/packages");
}

export function git(folder: string, ...args: readonly string[]): Promise<string> {
  return must("git", ["-C", folder, ...args], author);
}

async function makeReleaseKey(folder: string): Promise<{ readonly privateKey: string; readonly publicKey: string }> {
  await mkdir(folder);
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const files = { privateKey: path.join(folder, "key.pem"), publicKey: path.join(folder, "key.pub.pem") };
  await writeFile(files.privateKey, privateKey.export({ format: "pem", type: "pkcs8" }), { mode: 0o600 });
  await writeFile(files.publicKey, publicKey.export({ format: "pem", type: "spki" }));
  return files;
}

/** Copies the files of this checkout with their changes, as one commit. */
async function copyCheckout(target: string): Promise<void> {
  await mkdir(target);
  await must("sh", [
    "-ec",
    `cd "$1" && git ls-files -z --cached --others --exclude-standard |
       tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory "$2"`,
    ...["sh", workspace, target],
  ]);
  await git(target, "init", "--quiet", "--initial-branch", "main");
  await git(target, "add", "--all");
  await git(target, "commit", "--quiet", "--message", "Checkout of the test");
  await linkModules(target);
}

/** Gives a checkout the installed modules and the downloaded archives. Links take no space; other disks need copies. */
async function linkModules(target: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  const modules = path.join(target, "node_modules");
  const copy = `rm -rf "$2" && cp --archive --link "$1" "$2" || { rm -rf "$2" && cp --archive "$1" "$2"; }
    rm -rf "$2/.cache" && mkdir "$2/.cache" && ln -s "$3" "$2/.cache/gatehouse-packaging"`;
  await must("sh", ["-c", copy, "sh", path.join(workspace, "node_modules"), modules, cache]);
}
