/** The npm packages: checked by publint and attw, and installed from their archives in an empty folder. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must } from "./debian-root.ts";
import { freePort } from "./free-port.ts";
import { testedArtefacts, workspace } from "./tested-release.ts";

const names = ["gatehouse-client", "gatehouse-cli"] as const;

describe("the npm packages", () => {
  let folder: string;
  let archives: readonly string[];
  let version: string;
  let server: ChildProcess | undefined;

  beforeAll(async () => {
    const artefacts = await testedArtefacts();
    version = artefacts.version;
    archives = names.map((name) => path.join(artefacts.folder, `${name}-${version}.tgz`));
    folder = await mkdtemp(path.join(tmpdir(), "gatehouse-npm-test-"));
    // PostgreSQL runs as another user if this process is root, and must be able to enter the folder.
    await chmod(folder, 0o755);
    await writeFile(path.join(folder, "package.json"), JSON.stringify({ name: "consumer", type: "module" }));
    await must("npm", [
      ...["install", "--prefix", folder, "--prefer-offline", "--no-audit", "--no-fund", "--silent"],
      ...[...archives, `typescript@${await installedVersion("typescript")}`],
    ]);
  }, 3_600_000);

  afterAll(async () => {
    server?.kill("SIGKILL");
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  test.each([0, 1])("publint has no remarks on archive %i", async (index) => {
    const data = await archive(index);
    const { messages, pkg } = await publint({ pack: { tarball: data }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  test("attw finds no problem in the client's types", async () => {
    const result = await checkPackage(createPackageFromTarballData(new Uint8Array(await archive(0))));
    if (result.types === false) throw new Error("The client has no types.");
    // The profile esm-only of attw: packages without CommonJS resolve in Node.js with import, and in bundlers.
    const applicable = result.problems.filter(
      (problem) => !("resolutionKind" in problem) || !["node10", "node16-cjs"].includes(problem.resolutionKind),
    );
    expect(applicable).toEqual([]);
    expect(Object.keys(result.entrypoints)).toContain("./gatehouse");
  });

  test("the command line offers no module to other programs", async () => {
    expect((await checkPackage(createPackageFromTarballData(new Uint8Array(await archive(1))))).types).toBe(false);
    expect(await description("cli")).toMatchObject({ exports: { "./package.json": "./package.json" } });
  });

  test.each(["client", "cli"])("the package %s can be published with provenance", async (name) => {
    const { private: isPrivate, ...published } = await description(name);
    expect(isPrivate).toBeUndefined();
    expect(published).toMatchObject({
      ...{ version, license: "Apache-2.0", engines: { node: ">=20.19" } },
      publishConfig: { access: "public", provenance: true },
    });
    expect(JSON.stringify(published)).not.toContain("gatehouse-source");
  });

  test.each(["nodenext", "bundler"])(
    "a program with the module resolution %s compiles and runs",
    async (resolution) => {
      await writeFile(
        path.join(folder, "use.ts"),
        `import { GatehouseError } from "@gatehouse/client/errors";
import { createGatehouse } from "@gatehouse/client/gatehouse";
const gatehouse = createGatehouse({ url: "http://127.0.0.1:1", apiKey: "key" });
const record: () => Promise<string> = async () => (await gatehouse.post("/tenants/groups", { body: { name: "A" } })).id;
// @ts-expect-error: the body needs a name
const wrong = () => gatehouse.post("/tenants/groups", { body: {} });
console.log(typeof record, typeof wrong, typeof GatehouseError);
`,
      );
      const compilerOptions = {
        strict: true,
        target: "es2023",
        module: resolution === "bundler" ? "esnext" : "nodenext",
        moduleResolution: resolution,
        skipLibCheck: false,
        lib: ["es2023", "dom", "dom.iterable"],
      };
      // Without a project of its own, tsc complains about the one of the folder that the test runs in.
      await writeFile(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["use.ts"] }));
      await must("node", [path.join(folder, "node_modules/typescript/bin/tsc"), "--project", folder]);
      expect(await must("node", [path.join(folder, "use.js")])).toBe("function function function\n");
    },
  );

  test("the installed command serves with its own PostgreSQL", async () => {
    const command = path.join(folder, "node_modules/.bin/gatehouse");
    expect(await must(command, ["--version"])).toBe(`${version}\n`);
    expect(await must(path.join(folder, "node_modules/.bin/gatehouse-device"), ["--help"])).toContain("enrol");
    const port = await freePort();
    const options = ["--port", String(port), "--data-dir", path.join(folder, "data"), "--log-level", "error"];
    server = spawn(command, ["serve", ...options], { stdio: "ignore" });
    const statusOf = (route: string) =>
      fetch(`http://127.0.0.1:${port}${route}`).then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(() => statusOf("/readyz"), { timeout: 240_000 }).toBe(200);
    expect(await statusOf("/console/")).toBe(200);
    expect(await statusOf("/docs/swagger-ui.css")).toBe(200);
    const closed = once(server, "close");
    server.kill("SIGTERM");
    await closed;
  }, 600_000);

  async function archive(index: number): Promise<ArrayBuffer> {
    return new Uint8Array(await readFile(archives[index] ?? "")).buffer;
  }

  async function description(name: string): Promise<Record<string, unknown>> {
    return JSON.parse(await readFile(path.join(folder, `node_modules/@gatehouse/${name}/package.json`), "utf8"));
  }
});

async function installedVersion(name: string): Promise<string> {
  return JSON.parse(await readFile(path.join(workspace, `node_modules/${name}/package.json`), "utf8")).version;
}
