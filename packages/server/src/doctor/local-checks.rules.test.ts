/** Each finding of `gatehouse doctor`, with the fault that it reports. */
import { once } from "node:events";
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Config, readConfig } from "../config.ts";
import { generateMasterKey } from "../platform/secrets/master-key.ts";
import { firstCertificate, secondCertificate } from "../testing/certificates.ts";
import { checkClock, checkDataFolder, checkDisk } from "./machine-checks.ts";
import { checkPort, checkPublicUrl, checkTls } from "./network-checks.ts";

function config(environment: Readonly<Record<string, string>> = {}): Config {
  return readConfig({ flags: {}, environment });
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-doctor-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const external = { GATEHOUSE_DATABASE_URL: "postgres://gatehouse@db.example.com/gatehouse" };

describe("the data folder and the master key", () => {
  async function dataFolder(): Promise<{ dataDir: string; key: string }> {
    const dataDir = join(await temporaryFolder(), "data");
    await mkdir(dataDir, { mode: 0o700 });
    const key = join(dataDir, "master-key");
    await writeFile(key, `${generateMasterKey()}\n`, { mode: 0o600 });
    return { dataDir, key };
  }
  const found = async (dataDir: string) =>
    (await checkDataFolder(config({ GATEHOUSE_DATA_DIR: dataDir }))).map(({ check, status, remedy }) => [
      check,
      status,
      remedy,
    ]);

  test("are fine", async () => {
    const { dataDir } = await dataFolder();
    expect(await found(dataDir)).toEqual([
      ["data folder", "ok", undefined],
      ["master key", "ok", undefined],
    ]);
  });

  test("are missing", async () => {
    const { dataDir, key } = await dataFolder();
    await rm(key);
    expect((await found(dataDir))[1]).toEqual(["master key", "warning", expect.stringContaining("restore the file")]);
    await rm(dataDir, { recursive: true });
    expect(await found(dataDir)).toEqual([["data folder", "warning", expect.stringContaining("GATEHOUSE_DATA_DIR")]]);
  });

  test("are open to other users", async () => {
    const { dataDir, key } = await dataFolder();
    await chmod(dataDir, 0o755);
    await chmod(key, 0o644);
    expect(await found(dataDir)).toEqual([
      ["data folder", "problem", `Run: chmod go-rw '${dataDir}'`],
      ["master key", "problem", `Run: chmod 600 '${key}'`],
    ]);
  });

  test("the key file is damaged", async () => {
    const { dataDir, key } = await dataFolder();
    await writeFile(key, "damaged");
    const [, finding] = await checkDataFolder(config({ GATEHOUSE_DATA_DIR: dataDir }));
    expect(finding).toMatchObject({ status: "problem", message: `${key} contains no master key.` });
  });

  test("an external database needs a configured key", async () => {
    expect(await checkDataFolder(config(external))).toMatchObject([{ check: "master key", status: "problem" }]);
    const complete = config({ ...external, GATEHOUSE_MASTER_KEY: generateMasterKey() });
    expect(await checkDataFolder(complete)).toMatchObject([{ check: "master key", status: "ok" }]);
  });
});

test.each([
  [10_000, "ok"],
  [1_000, "warning"],
  [100, "problem"],
])("%i MiB of free space are reported as %s", async (mebibytes, status) => {
  const finding = await checkDisk(config(), async () => mebibytes * 1024 ** 2);
  expect(finding).toMatchObject({ status, message: expect.stringContaining(`${mebibytes} MiB are free`) });
});

test("a folder that does not exist yet has the free space of its parent", async () => {
  const dataDir = join(await temporaryFolder(), "data");
  expect((await checkDisk(config({ GATEHOUSE_DATA_DIR: dataDir }))).message).toMatch(/^\d+ MiB are free/);
});

test.each([
  [true, "ok"],
  [false, "warning"],
  [undefined, "skipped"],
])("a clock with the state %s is reported as %s", async (synchronised, status) => {
  expect(await checkClock(async () => synchronised)).toMatchObject({ check: "clock", status });
});

describe("the public address", () => {
  async function serverAnswering(status: number): Promise<string> {
    const server = createHttpServer((_request, response) => response.writeHead(status).end()).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    return `http://localhost:${(server.address() as AddressInfo).port}`; // listens on TCP
  }

  test("is not needed on one machine, and missing otherwise", async () => {
    expect(await checkPublicUrl(config())).toMatchObject({ status: "skipped" });
    expect(await checkPublicUrl(config({ GATEHOUSE_HOST: "0.0.0.0" }))).toMatchObject({
      ...{ status: "problem", remedy: expect.stringContaining("Set GATEHOUSE_PUBLIC_URL") },
    });
  });

  test("has no TLS", async () => {
    const finding = await checkPublicUrl(config({ GATEHOUSE_PUBLIC_URL: "http://gatehouse.example.com" }));
    expect(finding).toMatchObject({ status: "problem", message: "http://gatehouse.example.com has no TLS." });
  });

  test("reaches a Gatehouse", async () => {
    const finding = await checkPublicUrl(config({ GATEHOUSE_PUBLIC_URL: await serverAnswering(200) }));
    expect(finding).toMatchObject({ status: "ok" });
  });

  test("reaches something else", async () => {
    const finding = await checkPublicUrl(config({ GATEHOUSE_PUBLIC_URL: await serverAnswering(404) }));
    expect(finding).toMatchObject({ status: "problem", message: expect.stringContaining("status 404 instead of 200") });
  });

  test("does not answer", async () => {
    const finding = await checkPublicUrl(config({ GATEHOUSE_PUBLIC_URL: `http://localhost:${await freePort()}` }));
    expect(finding).toMatchObject({ status: "problem", message: expect.stringContaining("(ECONNREFUSED)") });
  });
});

describe("the port", () => {
  const at = async (port: number, host = "127.0.0.1") =>
    checkPort(config({ GATEHOUSE_PORT: String(port), GATEHOUSE_HOST: host }));

  async function answering(status: number, headers: Record<string, string>): Promise<number> {
    const server = createHttpServer((_request, response) => response.writeHead(status, headers).end());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    return (server.address() as AddressInfo).port; // listens on TCP
  }

  test("is free", async () => {
    expect(await at(await freePort())).toMatchObject({ status: "ok" });
  });

  test("is used by a server that is ready, or not ready", async () => {
    const headers = { "x-request-id": "1" };
    expect(await at(await answering(200, headers))).toMatchObject({ status: "ok" });
    expect(await at(await answering(503, headers))).toMatchObject({
      status: "problem",
      remedy: expect.stringContaining("log"),
    });
  });

  test("is used by another program", async () => {
    const finding = await at(await answering(200, {}));
    expect(finding).toMatchObject({ status: "problem", remedy: expect.stringContaining("GATEHOUSE_PORT") });
  });

  test("is on an address that this machine does not have", async () => {
    const finding = await at(8080, "192.0.2.1");
    expect(finding).toMatchObject({ status: "problem", message: expect.stringContaining("EADDRNOTAVAIL") });
  });
});

describe("the TLS certificate", () => {
  test("is not configured", async () => {
    expect((await checkTls(config(), new Date()))[0]).toMatchObject({ status: "skipped" });
  });

  async function pair(cert: string, key: string, publicUrl = "https://localhost"): Promise<Config> {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "cert.pem"), cert);
    await writeFile(join(folder, "key.pem"), key);
    return config({
      GATEHOUSE_TLS_CERT: join(folder, "cert.pem"),
      GATEHOUSE_TLS_KEY: join(folder, "key.pem"),
      GATEHOUSE_PUBLIC_URL: publicUrl,
    });
  }
  const { cert, key } = firstCertificate;
  const during = new Date("2027-01-01");

  test("is valid", async () => {
    expect((await checkTls(await pair(cert, key), during))[0]).toMatchObject({ status: "ok" });
  });

  test("expires soon, or has expired", async () => {
    const settings = await pair(cert, key);
    expect((await checkTls(settings, new Date("2126-10-25")))[0]).toMatchObject({ status: "warning" });
    const [expired] = await checkTls(settings, new Date("2127-01-01"));
    expect(expired).toMatchObject({ status: "problem", message: expect.stringContaining("expired on") });
  });

  test("belongs to another key", async () => {
    const [finding] = await checkTls(await pair(cert, secondCertificate.key), during);
    expect(finding).toMatchObject({ status: "problem", message: expect.stringContaining("does not belong") });
  });

  test("is for another name", async () => {
    const [finding] = await checkTls(await pair(cert, key, "https://gatehouse.example.com"), during);
    expect(finding).toMatchObject({ status: "problem", message: expect.stringContaining("not valid for gatehouse.") });
  });

  test("has a key that root can read, and the service cannot", async () => {
    const settings = await pair(cert, key);
    const { tlsKey = "" } = settings;
    const [finding] = await checkTls(settings, during, async (file) => file !== tlsKey);
    const owner = `"$(stat -c %U '${settings.dataDir}')"`;
    expect(finding).toEqual({
      ...{ check: "tls", status: "problem", message: `The user of the service cannot read ${tlsKey}.` },
      remedy: `Run: chown ${owner} '${tlsKey}', and let that user enter its folder.`,
    });
    expect((await checkTls(settings, during, async () => undefined))[0]).toMatchObject({ status: "ok" });
  });

  test.runIf(process.getuid?.() === 0)("is readable if the owner of the data folder can read it", async () => {
    const settings = await pair(cert, key);
    const folder = await temporaryFolder();
    await chown(folder, 65_534, 65_534);
    const found = async () => (await checkTls({ ...settings, dataDir: folder }, during))[0]?.status;
    expect(await found()).toBe("problem");
    for (const file of [settings.tlsKey ?? "", settings.tlsCert ?? "", dirname(settings.tlsKey ?? "")]) {
      await chown(file, 65_534, 65_534);
    }
    expect(await found()).toBe("ok");
  });

  test("is not a certificate", async () => {
    const [finding] = await checkTls(await pair("nothing", key), during);
    expect(finding).toMatchObject({ status: "problem", message: expect.stringContaining("no certificate in PEM") });
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // listens on TCP
  server.close();
  await once(server, "close");
  return port;
}
