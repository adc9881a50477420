import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { waitLimitMs } from "../../../test/wait-limit.ts";
import { type EmbeddedPostgres, EmbeddedPostgresError, startEmbeddedPostgres } from "./embedded-postgres.ts";
import { isPostmasterOf, postmasterFile } from "./postmaster.ts";
import { chooseServerAccount, spawnAs } from "./server-account.ts";
import type { LogEvent } from "./server-log.ts";

const asRoot = process.getuid?.() === 0;
const ownerScript = fileURLToPath(new URL("./testing/crash-test-owner.mjs", import.meta.url));

let root: string;
let logged: LogEvent[] = [];
const running = new Set<EmbeddedPostgres>();
const children = new Set<ChildProcess>();

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
  await chmod(root, 0o711); // PostgreSQL's account passes through when the tests run as root
});

afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  await Promise.all([...running].map((postgres) => postgres.stop()));
  children.clear();
  running.clear();
  logged = [];
});

afterAll(async () => {
  await rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});

async function start(dataDir: string): Promise<EmbeddedPostgres> {
  const log = (event: LogEvent) => logged.push(event);
  const postgres = await startEmbeddedPostgres({ dataDir, log, settings: { fsync: "off" } });
  running.add(postgres);
  return postgres;
}

async function query(postgres: EmbeddedPostgres, text: string): Promise<unknown[][]> {
  const client = new pg.Client(postgres.connection);
  client.on("error", () => {}); // reported by the query as well
  try {
    await client.connect();
    const result = await client.query({ text, rowMode: "array" });
    return result.rows;
  } finally {
    await client.end();
  }
}

/** Polls until a condition of the system is true, because the system does not notify about it. */
async function until(what: string, condition: () => Promise<boolean>, timeoutMs = waitLimitMs): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`timed out waiting until ${what}`);
    await pause(20);
  }
}

/** Starts another process that starts the embedded PostgreSQL on the folder. */
function spawnOwner(dataDir: string): ChildProcess {
  const child = spawn(process.execPath, [ownerScript, dataDir], { stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  return child;
}

/** @returns the process id of the server that the other process runs */
async function serverPidOf(owner: ChildProcess): Promise<number> {
  const [output] = await once(owner.stdout ?? owner, "data");
  return Number(/running (\d+)/.exec(String(output))?.[1]);
}

async function processesMentioning(text: string): Promise<number[]> {
  const found: number[] = [];
  for (const entry of await readdir("/proc")) {
    const commandLine = /^\d+$/.test(entry) ? await readFile(`/proc/${entry}/cmdline`, "utf8").catch(() => "") : "";
    if (commandLine.includes(text)) found.push(Number(entry));
  }
  return found;
}

async function rejection(promise: Promise<unknown>): Promise<EmbeddedPostgresError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof EmbeddedPostgresError) return error;
  throw new Error(`expected an EmbeddedPostgresError, got ${String(error)}`);
}

test("the first start creates a database, and the second one finds its data", async () => {
  const dataDir = join(root, "restart");
  const first = await start(dataDir);
  await query(first, "create table kept as select 1 as value");
  expect(await query(first, "show server_encoding")).toEqual([["UTF8"]]);
  expect(await query(first, "show data_checksums")).toEqual([["on"]]);
  expect(await query(first, "show listen_addresses")).toEqual([[""]]);
  expect((await stat(first.connection.host)).mode & 0o777).toBe(0o700);
  await first.stop();
  await first.stop();
  expect(first.pid).toBeUndefined();

  const second = await start(dataDir);
  expect(await query(second, "select value from kept")).toEqual([[1]]);
  expect(logged.filter((event) => event.message.startsWith("made a new"))).toHaveLength(1);
  expect(logged.filter((event) => event.level === "warn" || event.level === "error")).toEqual([]);
});

test("a second start on the same folder is refused with the process id of the first", async () => {
  const dataDir = join(root, "twice");
  const owner = spawnOwner(dataDir);
  await serverPidOf(owner);
  const error = await rejection(startEmbeddedPostgres({ dataDir, log: () => {} }));
  expect(error.message).toContain(`in use by another Gatehouse, process ${owner.pid}`);
  expect(error.remedy).toContain(`kill ${owner.pid}`);
});

test("exactly one of several simultaneous starts on a new folder succeeds", async () => {
  const dataDir = join(root, "race");
  const starts = await Promise.allSettled([start(dataDir), start(dataDir), start(dataDir)]);
  expect(starts.filter((outcome) => outcome.status === "fulfilled")).toHaveLength(1);
});

test("a data folder with a long and unusual path works, with its socket in a short folder", async () => {
  const dataDir = join(root, `a "long", 'odd' path ${"x".repeat(120)}`);
  const postgres = await start(dataDir);
  expect(postgres.connection.host.startsWith(dataDir)).toBe(false);
  expect((await stat(postgres.connection.host)).mode & 0o777).toBe(0o700);
  expect(await query(postgres, "select 1")).toEqual([[1]]);
  expect((await rejection(startEmbeddedPostgres({ dataDir, log: () => {} }))).message).toContain("in use");
  await postgres.stop();
  await expect(stat(postgres.connection.host)).rejects.toThrow("ENOENT");
});

test.runIf(process.platform === "linux")("kill -9 of Gatehouse leaves no process of PostgreSQL behind", async () => {
  const dataDir = join(root, "killed");
  const owner = spawnOwner(dataDir);
  const pid = await serverPidOf(owner);
  expect(await processesMentioning(dataDir)).toContain(pid);
  owner.kill("SIGKILL");
  await until("PostgreSQL and its watcher are gone", async () => (await processesMentioning(dataDir)).length === 0);
  expect(await query(await start(dataDir), "select 1")).toEqual([[1]]);
});

test.runIf(process.platform === "linux")(
  "an orphan whose watcher died too is taken over by the next start",
  async () => {
    const dataDir = join(root, "orphan");
    const owner = spawnOwner(dataDir);
    const pid = await serverPidOf(owner);
    const watchers = new Set(await processesMentioning("gatehouse-watcher"));
    for (const watcher of await processesMentioning(dataDir)) {
      if (watchers.has(watcher)) process.kill(watcher, "SIGKILL");
    }
    owner.kill("SIGKILL");
    await once(owner, "exit");
    expect(await isPostmasterOf(pid, join(dataDir, "postgres"))).toBe(true);

    const next = await start(dataDir);
    expect(logged).toContainEqual({ level: "warn", message: `stopped PostgreSQL process ${pid} of an earlier run` });
    expect(next.pid).not.toBe(pid);
    expect(await query(next, "select 1")).toEqual([[1]]);
  },
);

test("a start succeeds after an earlier one was killed during initdb", async () => {
  const dataDir = join(root, "unfinished");
  const unfinished = async () =>
    (await readdir(dataDir).catch(() => [])).filter((name) => name.startsWith("postgres.unfinished-"));
  const owner = spawnOwner(dataDir);
  await until("initdb works", async () => (await unfinished()).length > 0);
  owner.kill("SIGKILL");
  await once(owner, "exit");
  expect(await query(await start(dataDir), "select 1")).toEqual([[1]]);
  expect(await unfinished()).toEqual([]);
});

test("a killed server restarts with all committed data", async () => {
  const postgres = await start(join(root, "crash"));
  await query(postgres, "create table kept as select 1 as value");
  const before = postgres.pid ?? 0;
  process.kill(before, "SIGKILL");
  await until("another server runs", async () => postgres.pid !== undefined && postgres.pid !== before);
  expect(await query(postgres, "select value from kept")).toEqual([[1]]);
  expect(logged).toContainEqual({
    level: "error",
    message: "PostgreSQL ended unexpectedly (signal SIGKILL); starting it again",
  });
});

test("stop during a pending restart leaves no server and unlocks the folder", async () => {
  const dataDir = join(root, "stop-restart");
  const postgres = await start(dataDir);
  process.kill(postgres.pid ?? 0, "SIGKILL");
  await until("the end was noticed", async () => postgres.pid === undefined);
  await postgres.stop();
  expect(postgres.pid).toBeUndefined();
  await (await start(dataDir)).stop();
});

test.each([
  ["another program", "echo $$; exec sleep 60"],
  ["a zombie that nobody reaps", "sleep 0 & echo $!; exec sleep 60"],
])("a lock file that names %s does not block the start", async (_, script) => {
  const dataDir = join(root, `stale-${script.length}`);
  await (await start(dataDir)).stop();
  const clusterDir = join(dataDir, "postgres");
  const account = await chooseServerAccount(clusterDir);
  const stranger = spawn("/bin/sh", ["-c", script], {
    ...spawnAs(account),
    cwd: "/",
    stdio: ["ignore", "pipe", "ignore"],
  });
  children.add(stranger);
  const [pid] = await once(stranger.stdout, "data");
  await writeFile(postmasterFile(clusterDir), `${String(pid).trim()}\n${clusterDir}\n1\n5432\n/nowhere\n\n`);
  expect(await query(await start(dataDir), "select 1")).toEqual([[1]]);
  expect(stranger.exitCode).toBeNull();
});

test("a server that cannot start is reported with its last lines, and its folder is unlocked", async () => {
  const dataDir = join(root, "bad-setting");
  const bad = startEmbeddedPostgres({ dataDir, log: () => {}, settings: { fsync: "off", shared_buffers: "much" } });
  expect((await rejection(bad)).message).toContain('invalid value for parameter "shared_buffers": "much"');
  await start(dataDir);
});

test("a database of another major version is refused by both names", async () => {
  const dataDir = join(root, "old");
  await mkdir(join(dataDir, "postgres"), { recursive: true });
  await writeFile(join(dataDir, "postgres", "PG_VERSION"), "12\n");
  const error = await rejection(start(dataDir));
  expect(error.message).toMatch(/was made by PostgreSQL 12, but this Gatehouse brings PostgreSQL \d+/);
});

test("a folder that is not a database is refused and not changed", async () => {
  const dataDir = join(root, "foreign");
  await mkdir(join(dataDir, "postgres"), { recursive: true });
  await writeFile(join(dataDir, "postgres", "precious.txt"), "precious");
  expect((await rejection(start(dataDir))).message).toContain("no file PG_VERSION");
  expect(await readdir(join(dataDir, "postgres"))).toEqual(["precious.txt"]);
});

test("a file in place of the data folder is reported with a remedy", async () => {
  const dataDir = join(root, "file");
  await writeFile(dataDir, "");
  const error = await rejection(start(dataDir));
  expect(error.message).toContain(dataDir);
  expect(error.remedy).toContain("GATEHOUSE_DATA_DIR");
});

test.runIf(process.platform === "linux").each(["/proc/gatehouse/data", "/proc"])(
  "a file system that takes no folders ends the start, with what to do: %s",
  async (dataDir) => {
    const error = await rejection(start(dataDir));
    expect(error.message).toContain("/proc/");
    expect(error.remedy).toContain("GATEHOUSE_DATA_DIR");
  },
);

test.runIf(asRoot)("as root, a parent that PostgreSQL's user cannot enter is reported with a remedy", async () => {
  const closed = join(root, "closed");
  await mkdir(closed, { mode: 0o700 });
  const error = await rejection(start(join(closed, "data")));
  expect(error.message).toContain(`cannot enter ${closed},`);
  expect(error.remedy).toContain("GATEHOUSE_DATA_DIR");
  expect(error.remedy).toContain(`chmod o+x '${closed}'`);
});

test.runIf(asRoot)(
  "as root, PostgreSQL runs as an unprivileged user, even on a folder that root restored",
  async () => {
    const postgres = await start(join(root, "restored"));
    const uid = async () => (await stat(`${join(root, "restored", "postgres")}`)).uid;
    expect(await uid()).not.toBe(0);
    await postgres.stop();
    const chown = spawn("chown", ["-R", "0:0", join(root, "restored", "postgres")]);
    await once(chown, "exit");
    expect(await query(await start(join(root, "restored")), "select 1")).toEqual([[1]]);
    expect(await uid()).not.toBe(0);
  },
);
