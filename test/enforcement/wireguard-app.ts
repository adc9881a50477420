/**
 * A phone in a test's network: only WireGuard, configured with the file that the page `/my/` offers. The page's own
 * modules make the file.
 */
import { randomUUID } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import type pg from "pg";
import { expect } from "vitest";
import { formatWireGuardFile, type Routes } from "../../packages/console/src/pages/my/wireguard-file.ts";
import { createWireGuardKeys, proveKey } from "../../packages/console/src/pages/my/wireguard-key.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../packages/server/src/platform/secrets/tokens.ts";
import type { ReplyBody } from "../../packages/server/src/testing/test-server.ts";
import { until } from "../../packages/server/src/testing/until.ts";
import type { Namespace, Prober } from "./namespaces.ts";
import { type NetworkWorld, replicaUrl } from "./network-world.ts";

/** A person who is signed in on the machine. */
export class SignedInPerson {
  readonly #prober: Prober;
  readonly #token: string;

  private constructor(prober: Prober, token: string) {
    this.#prober = prober;
    this.#token = token;
  }

  /** Begins a session like a sign-in with a passkey. */
  static async signIn(database: pg.Client, userId: string, prober: Prober): Promise<SignedInPerson> {
    const token = generateToken(tokenPrefixes.session);
    await database.query(
      `INSERT INTO sessions (tenant_id, id, user_id, token_hash, client, method, created_at, last_used_at, address,
                             user_agent, auth_time, amr, expires_at, idle_seconds)
       SELECT tenant_id, $2, id, $3, 'console', 'passkey', now(), now(), '192.0.2.20', '', now(), '{hwk}',
              now() + interval '1 hour', 3600
       FROM users WHERE id = $1`,
      [userId, randomUUID(), hashToken(token)],
    );
    return new SignedInPerson(prober, token);
  }

  async ask(method: string, path: string, body?: object): Promise<ReplyBody> {
    const { status, text } = await this.#prober.ask<{ readonly status: number; readonly text: string }>("request", {
      method,
      url: replicaUrl(1) + path,
      headers: {
        cookie: `gatehouse_session=${this.#token}`,
        origin: replicaUrl(1),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(status, `${method} ${path}: ${text}`).toBeLessThan(300);
    return text === "" ? undefined : JSON.parse(text);
  }
}

/** The machine with its tunnel. */
export class WireGuardApp {
  readonly prober: Prober;
  readonly #namespace: Namespace;
  readonly #interfaceName: string;
  readonly #privateKey: string;
  readonly #file: string;
  readonly id: string;

  private constructor(parts: {
    readonly namespace: Namespace;
    readonly prober: Prober;
    readonly name: string;
    readonly privateKey: string;
    readonly file: string;
    readonly id: string;
  }) {
    this.#namespace = parts.namespace;
    this.prober = parts.prober;
    this.#interfaceName = parts.name;
    this.#privateKey = parts.privateKey;
    this.#file = parts.file;
    this.id = parts.id;
  }

  /** Adds the device as the page does, and starts WireGuard. */
  static async add(
    world: NetworkWorld,
    person: SignedInPerson,
    machine: { readonly namespace: Namespace; readonly prober: Prober },
  ): Promise<WireGuardApp> {
    const keys = await createWireGuardKeys();
    const { publicKey } = keys;
    const { ticket, ...challenge } = await person.ask("POST", "/tenants/my/devices/key-challenge", { publicKey });
    const body = { name: "Phone", publicKey, ticket, proof: await proveKey(keys, challenge) };
    const { id } = await person.ask("POST", "/tenants/my/devices", body);
    const name = `app${world.namespaces.id}`;
    machine.namespace.start("wireguard-go", ["--foreground", name]);
    await until("wireguard-go serves", () => existsSync(`/var/run/wireguard/${name}.sock`), 30_000);
    const file = path.join(world.folder, "phone.conf");
    const app = new WireGuardApp({ ...machine, name, privateKey: keys.privateKey, file, id });
    await app.importFile(person);
    return app;
  }

  /** Reads the routes as the page does, and does with the file what wg-quick does. */
  async importFile(person: SignedInPerson): Promise<string> {
    const routes: Routes = await person.ask("GET", `/tenants/my/devices/${this.id}/configuration`);
    const file = formatWireGuardFile(routes, this.#privateKey);
    const values = (key: string) =>
      [...file.matchAll(new RegExp(`^${key} = (.*)$`, "gm"))].flatMap(([, list = ""]) => list.split(", "));
    const stripped = file.replaceAll(/^Address = .*\n/gm, "");
    const [name, namespace] = [this.#interfaceName, this.#namespace];
    writeFileSync(this.#file, stripped, { mode: 0o600 });
    namespace.run("wg", ["setconf", name, this.#file]);
    for (const address of values("Address")) namespace.run("ip", ["address", "replace", address, "dev", name]);
    namespace.run("ip", ["link", "set", name, "up"]);
    for (const block of values("AllowedIPs")) namespace.run("ip", ["route", "replace", block, "dev", name]);
    return file;
  }
}
