import { chmod, type FileHandle, mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { replaceFile } from "./durable-file.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-file-"));
  file = path.join(folder, "secret.json");
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

/** Records what is synced: the text of a file, or the names in the folder. */
async function recordSyncs(): Promise<readonly unknown[]> {
  const prototype: FileHandle = Object.getPrototypeOf(await closedHandle());
  const synced: unknown[] = [];
  vi.spyOn(prototype, "sync").mockImplementation(async function (this: FileHandle) {
    const isFolder = (await this.stat()).isDirectory();
    const [unfinished = ""] = (await readdir(folder)).filter((name) => name.endsWith(".unfinished"));
    synced.push(isFolder ? await readdir(folder) : await readFile(path.join(folder, unfinished), "utf8"));
  });
  return synced;
}

test("the text is synced before it gets its name, and the name after it", async () => {
  const synced = await recordSyncs();
  await replaceFile(file, "new");
  expect(synced).toEqual(["new", ["secret.json"]]);
});

test("only the owner can read the file, whatever its mode was", async () => {
  await writeFile(file, "old");
  await chmod(file, 0o644);
  await replaceFile(file, "new");
  expect(await readFile(file, "utf8")).toBe("new");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("a failure leaves the former file, and no other one", async () => {
  await writeFile(file, "old");
  const full = vi.spyOn(Object.getPrototypeOf(await closedHandle()), "sync").mockRejectedValue(new Error("ENOSPC"));
  await expect(replaceFile(file, "new")).rejects.toThrow("ENOSPC");
  expect(full).toHaveBeenCalledOnce();
  expect(await readdir(folder)).toEqual(["secret.json"]);
  expect(await readFile(file, "utf8")).toBe("old");
});

test("a file that cannot be replaced leaves no other one", async () => {
  await mkdir(file);
  await expect(replaceFile(file, "new")).rejects.toThrow("EISDIR");
  expect(await readdir(folder)).toEqual(["secret.json"]);
});

test("what an interrupted replacement left is removed, but no other file", async () => {
  const others = ["secret.json.second", "secret.json.second.0123456789ab.unfinished", "secret.json.unfinished"];
  const left = "secret.json.0123456789ab.unfinished";
  for (const name of [...others, left]) await writeFile(path.join(folder, name), "old");
  await replaceFile(file, "new");
  expect((await readdir(folder)).toSorted()).toEqual(["secret.json", ...others]);
});

/** Makes the file system fail each sync of a folder. */
async function failFolderSyncs(code: string): Promise<void> {
  vi.spyOn(Object.getPrototypeOf(await closedHandle()), "sync").mockImplementation(async function (this: FileHandle) {
    if ((await this.stat()).isDirectory()) throw Object.assign(new Error(code), { code });
  });
}

test.each(["EINVAL", "ENOTSUP", "EPERM"])(
  "a file system that refuses to sync folders with %s is accepted",
  async (code) => {
    await failFolderSyncs(code);
    await replaceFile(file, "new");
    expect(await readFile(file, "utf8")).toBe("new");
  },
);

test("another failure to sync the folder is reported", async () => {
  await failFolderSyncs("EIO");
  await expect(replaceFile(file, "new")).rejects.toThrow("EIO");
});

async function closedHandle(): Promise<FileHandle> {
  const handle = await open(folder, "r");
  await handle.close();
  return handle;
}
