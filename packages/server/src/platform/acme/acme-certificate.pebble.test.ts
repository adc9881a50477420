/** Certificates of a real certificate authority. */
import type { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { Server } from "node:http";
import { get } from "node:https";
import type { AddressInfo } from "node:net";
import { connect as connectTls } from "node:tls";
import pg from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { createChallengeListener } from "../../http/challenge-listener.ts";
import { Pebble, pebbleProblem } from "../../testing/pebble.ts";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer } from "../../testing/test-server.ts";
import { acmeTasks } from "./acme-tasks.ts";
import type { AcmeChallengeType } from "./order-certificate.ts";

if (pebbleProblem !== undefined) console.warn(`Tests of certificate authorities are skipped: ${pebbleProblem}.`);

const host = "gatehouse.example.com";

describe.skipIf(pebbleProblem !== undefined)("a certificate authority", () => {
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  async function database(): Promise<TestDatabase> {
    const made = await createDatabase();
    ends.push(() => made.drop());
    return made;
  }

  async function serverWith(pebble: Pebble, { connection }: TestDatabase, challengeType: AcmeChallengeType) {
    const server = await startTestServer({
      connection,
      settings: {
        metrics: true,
        acme: {
          directoryUrl: pebble.directoryUrl,
          host,
          contact: "ada@example.com",
          challengeType,
          caFile: pebble.caFile,
          settleMs: 0,
        },
      },
    });
    ends.push(() => server.close());
    const port = Number(new URL((await server.listen()).replace("http:", "https:")).port);
    return { server, port };
  }

  async function rowsOf({ connection }: TestDatabase, text: string): Promise<readonly object[]> {
    const client = new pg.Client(connection);
    await client.connect();
    try {
      await client.query("SET app.operator = 'on'");
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  async function pebbleOf(): Promise<Pebble> {
    const pebble = await Pebble.create();
    ends.push(() => pebble.remove());
    return pebble;
  }

  async function listening(server: Server): Promise<number> {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    ends.push(async () => server.close());
    return (server.address() as AddressInfo).port; // listens on TCP
  }

  const orderOf = async (server: TestServer) => {
    server.acme?.listen();
    await server.tasks.get(acmeTasks.order)?.runNow();
  };

  async function expiry({ metrics }: TestServer): Promise<number> {
    const line = /^gatehouse_tls_certificate_expiry_seconds\{source="acme"\} (.*)$/m;
    return Number(line.exec((await metrics?.text()) ?? "")?.[1]);
  }

  async function status(port: number, ca: string): Promise<number | undefined> {
    const sent = get({ host: "127.0.0.1", port, servername: host, path: "/healthz", ca, headers: { host } });
    const [answer] = await once(sent, "response");
    answer.resume();
    return answer.statusCode;
  }

  async function served(port: number, protocols: readonly string[] = ["http/1.1"]): Promise<X509Certificate> {
    const options = { host: "127.0.0.1", port, servername: host, ALPNProtocols: [...protocols] };
    const socket = connectTls({ ...options, rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const certificate = socket.getPeerX509Certificate();
    socket.destroy();
    return certificate ?? expect.fail("the server presents no certificate");
  }

  test("issues a certificate over TLS-ALPN-01, which all replicas use and no row has in the clear", async () => {
    const [pebble, own] = [await pebbleOf(), await database()];
    const { server, port } = await serverWith(pebble, own, "tls-alpn-01");
    await pebble.start({ httpPort: 1, tlsPort: port });
    const before = await served(port);
    expect(before.verify(before.publicKey)).toBe(true);
    // Without an order, nobody gets an answer to a challenge.
    await expect(served(port, ["acme-tls/1"])).rejects.toThrow();
    expect(await expiry(server)).toBe(0);
    await orderOf(server);
    expect(await expiry(server)).toBe(Date.parse((await served(port)).validTo) / 1_000);
    const root = await pebble.root();
    expect(await status(port, root)).toBe(200);
    expect((await served(port, ["h2"])).checkHost(host)).toBe(host);
    await expect(served(port, ["acme-tls/1"])).rejects.toThrow();

    const second = await serverWith(pebble, own, "tls-alpn-01");
    expect((await served(second.port)).fingerprint256).toBe((await served(port)).fingerprint256);
    const rows = await rowsOf(own, "SELECT *, encode(private_key_ciphertext, 'escape') AS key FROM acme_certificates");
    expect(rows).toMatchObject([{ host, error: null, failures: 0, ordering_until: null }]);
    expect(JSON.stringify(rows)).not.toContain("PRIVATE KEY");
    expect(await rowsOf(own, "SELECT FROM acme_challenges")).toEqual([]);
  });

  test("issues a certificate over HTTP-01, on a port that sends everything else to the public address", async () => {
    const [pebble, own] = [await pebbleOf(), await database()];
    const { server, port } = await serverWith(pebble, own, "http-01");
    const publicUrl = `https://${host}`;
    const keyAuthorization = (token: string) => server.acme?.keyAuthorization(token);
    const httpPort = await listening(createChallengeListener({ publicUrl, keyAuthorization }));
    await pebble.start({ httpPort, tlsPort: 1 });
    await orderOf(server);
    expect(await status(port, await pebble.root())).toBe(200);
    const plain = `http://127.0.0.1:${httpPort}`;
    const moved = await fetch(`${plain}//other.example.com/console?a=b`, { redirect: "manual" });
    expect([moved.status, moved.headers.get("location")]).toEqual([308, `${publicUrl}//other.example.com/console?a=b`]);
    expect((await fetch(`${plain}/.well-known/acme-challenge/unknown`)).status).toBe(404);
    expect((await fetch(`${plain}/console/session`, { method: "POST" })).status).toBe(405);
  });

  test("that cannot reach the server leaves the reason, and the server continues", async () => {
    const [pebble, own] = [await pebbleOf(), await database()];
    const { server, port } = await serverWith(pebble, own, "tls-alpn-01");
    await pebble.start({ httpPort: 1, tlsPort: 1 });
    await orderOf(server);
    const [row] = await rowsOf(
      own,
      "SELECT failures, error, certificate, next_attempt_at > now() AS later FROM acme_certificates",
    );
    expect(row).toMatchObject({
      failures: 1,
      error: expect.stringMatching(/Failed to connect/),
      later: true,
    });
    expect((await served(port)).checkHost(host)).toBe(host);
  });
});
