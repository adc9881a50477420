/** Runs kill -9 under write load. Acknowledged writes are stored, and no write is stored partially. */
import { type ChildProcess, fork } from "node:child_process";
import { randomInt, randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  chooseSocketDirectory,
  recordedPostmasterPid,
  serverPort,
  serverSocketName,
  superuser,
} from "@gatehouse/embedded-postgres/inspection";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { budgeted } from "../../../../../test/budget.ts";
import { generateToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { brokenInvariants } from "./invariants.queries.ts";

/** Every second kill also ends PostgreSQL. */
const kills = budgeted(40);
const writers = 6;
/** The number of acknowledged writes before each kill: at least this many, and up to twice as many. */
const writesBetweenKills = 25;
const program = fileURLToPath(new URL("./crash-server.mjs", import.meta.url));
const key = generateToken(tokenPrefixes.apiKey);

let root: string;
let dataDir: string;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "gatehouse-test-")));
  await chmod(root, 0o711); // PostgreSQL's account passes through when the tests run as root
  dataDir = join(root, "data");
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await rm(root, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
});

interface Server {
  readonly process: ChildProcess;
  readonly address: string;
}

/** Starts a process that loads the program and waits. */
function load(): ChildProcess {
  const child = fork(program, { execArgv: [] });
  children.add(child);
  return child;
}

async function start(child: ChildProcess): Promise<Server> {
  const report = async () => (await once(child, "message"))[0];
  expect(await report()).toEqual({ loaded: true });
  child.send({ port: "0", dataDir, bootstrapApiKey: key });
  const { address, failure } = await report();
  expect(failure).toBeUndefined();
  return { process: child, address };
}

/** Kills the server, and its PostgreSQL if requested. Otherwise the next server takes over the running PostgreSQL. */
async function kill(server: Server, postgresToo: boolean): Promise<void> {
  const postmaster = postgresToo ? await recordedPostmasterPid(join(dataDir, "postgres")) : undefined;
  server.process.kill("SIGKILL");
  if (postmaster !== undefined) process.kill(postmaster, "SIGKILL");
  if (server.process.exitCode === null && server.process.signalCode === null) await once(server.process, "exit");
}

async function inspect<T>(look: (client: pg.Client) => Promise<T>): Promise<T> {
  const host = chooseSocketDirectory(dataDir, "socket", serverSocketName);
  const client = new pg.Client({ host, port: serverPort, user: superuser, database: "gatehouse", ssl: false });
  await client.connect();
  try {
    return await look(client);
  } finally {
    await client.end();
  }
}

/** A request without an answer: it may or may not have been performed. */
class Unanswered extends Error {}

async function send(address: string, method: string, path: string, body?: object, idempotencyKey?: string) {
  const headers = { apikey: key, "content-type": "application/json" };
  const replay = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
  let text: string;
  let status: number;
  try {
    const payload = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(address + path, { method, headers: { ...headers, ...replay }, ...payload });
    status = response.status;
    text = await response.text();
  } catch {
    throw new Unanswered();
  }
  // Without its PostgreSQL the server answers 503, which acknowledges nothing.
  if (status === 503) throw new Unanswered();
  return { status, body: text === "" ? undefined : JSON.parse(text) };
}

/** A client that creates, renames and deletes its own resources, and records the acknowledged writes. */
class Writer {
  /** Acknowledged names by id; undefined for deleted resources. */
  readonly #known = new Map<string, string | undefined>();
  /** The other possible name after an unanswered request. */
  readonly #possible = new Map<string, string | undefined>();
  /** An unanswered creation. It is sent again with its key, and must be performed once. */
  #unanswered: { readonly name: string; readonly idempotencyKey: string } | undefined;
  acknowledged = 0;

  async write(address: string): Promise<void> {
    try {
      await this.#writeOne(address);
      this.acknowledged += 1;
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
    }
  }

  async #writeOne(address: string): Promise<void> {
    const ids = [...this.#known].filter(([id, name]) => name !== undefined && !this.#possible.has(id));
    const [id] = ids[randomInt(Math.max(1, ids.length))] ?? [];
    const choice = randomInt(6);
    if (id === undefined || choice < 3 || this.#unanswered !== undefined) return this.#create(address);
    if (choice === 3) return this.#delete(address, id);
    if (choice === 4) return this.#rename(address, id);
    const made = await send(address, "POST", "/tenants/protocols", { networkProtocols: [{ protocol: "TCP" }] });
    expect(made.status).toBe(201);
  }

  async #create(address: string): Promise<void> {
    this.#unanswered ??= { name: randomUUID(), idempotencyKey: randomUUID() };
    const { name, idempotencyKey } = this.#unanswered;
    const addresses = [1, 2].map((number) => ({ address: `${name}-${number}.example.com`, protocols: [] }));
    const body = { name, type: "PRIVATE", addresses };
    const made = await send(address, "POST", "/tenants/resources", body, idempotencyKey);
    expect(made).toMatchObject({ status: 201, body: { name } });
    this.#unanswered = undefined;
    this.#known.set(made.body.id, name);
  }

  async #rename(address: string, id: string): Promise<void> {
    const name = randomUUID();
    this.#possible.set(id, name);
    expect(await send(address, "PATCH", `/tenants/resources/${id}`, { name })).toMatchObject({ status: 204 });
    this.#possible.delete(id);
    this.#known.set(id, name);
  }

  async #delete(address: string, id: string): Promise<void> {
    this.#possible.set(id, undefined);
    expect(await send(address, "DELETE", `/tenants/resources/${id}`)).toMatchObject({ status: 204 });
    this.#possible.delete(id);
    this.#known.set(id, undefined);
  }

  /** Compares the stored names with the acknowledged ones, and determines the outcome of unanswered requests. */
  check(stored: ReadonlyMap<string, string>): void {
    for (const [id, name] of this.#known) {
      const allowed = this.#possible.has(id) ? [name, this.#possible.get(id)] : [name];
      expect(allowed, `resource ${id}`).toContain(stored.get(id));
      this.#known.set(id, stored.get(id));
    }
    this.#possible.clear();
  }
}

test(`${kills} kills lose no acknowledged write and leave no partial command`, async () => {
  const crowd = Array.from({ length: writers }, () => new Writer());
  const written = () => crowd.reduce((sum, writer) => sum + writer.acknowledged, 0);
  let next = load();
  for (let round = 0; round <= kills; round += 1) {
    const server = await start(next);
    await inspect(async (client) => {
      const { rows: tenants } = await client.query("SELECT id FROM tenants");
      expect(tenants).toHaveLength(1);
      expect(await brokenInvariants(client, tenants[0].id), `after kill ${round}`).toEqual({});
      const { rows } = await client.query("SELECT id, name FROM resources");
      for (const writer of crowd) writer.check(new Map(rows.map(({ id, name }) => [id, name])));
    });
    if (round === kills) break;

    next = load();
    const enough = written() + writesBetweenKills + randomInt(writesBetweenKills);
    let killed: Promise<void> | undefined;
    const write = async (writer: Writer) => {
      while (killed === undefined) {
        await writer.write(server.address);
        if (written() >= enough) killed ??= kill(server, round % 2 === 1);
      }
    };
    await Promise.all(crowd.map(write));
    await killed;
  }
  expect(written()).toBeGreaterThan(kills * writesBetweenKills);
});
