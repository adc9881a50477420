import { mkdir, mkdtemp, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeLibraryLinks } from "./binaries.ts";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";

let packageDir: string;

beforeEach(async () => {
  packageDir = await mkdtemp(join(tmpdir(), "gatehouse-binaries-"));
  await mkdir(join(packageDir, "native", "lib"), { recursive: true });
});

afterEach(() => rm(packageDir, { recursive: true, force: true }));

async function listLinks(links: unknown): Promise<void> {
  await writeFile(join(packageDir, "native", "pg-symlinks.json"), JSON.stringify(links));
}

test("missing library links are made as relative links, and a second run changes nothing", async () => {
  await listLinks([{ source: "native/lib/libpq.so.5.18", target: "native/lib/libpq.so.5" }]);
  await makeLibraryLinks(packageDir, "example");
  await makeLibraryLinks(packageDir, "example");
  expect(await readlink(join(packageDir, "native/lib/libpq.so.5"))).toBe("libpq.so.5.18");
});

test("a package without a list needs no links", async () => {
  await expect(makeLibraryLinks(packageDir, "example")).resolves.toBeUndefined();
});

test("links that would lead out of the package are not made", async () => {
  await listLinks([{ source: "native/lib/libpq.so", target: "../outside" }]);
  await makeLibraryLinks(packageDir, "example");
  await expect(readlink(join(packageDir, "../outside"))).rejects.toThrow("ENOENT");
});

test("a link that cannot be made is reported with a remedy", async () => {
  await listLinks([{ source: "native/lib/libpq.so", target: "native/absent/libpq.so" }]);
  const making = makeLibraryLinks(packageDir, "example");
  await expect(making).rejects.toBeInstanceOf(EmbeddedPostgresError);
  await expect(making).rejects.toMatchObject({
    message: expect.stringContaining("native/absent/libpq.so"),
    remedy: expect.stringContaining("npm rebuild example"),
  });
});
