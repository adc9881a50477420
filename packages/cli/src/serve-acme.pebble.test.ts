/** The real process obtains its certificate from a certificate authority, and serves HTTPS with it. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { get } from "node:https";
import { connect } from "node:tls";
import { freePort, Pebble, pebbleProblem } from "@gatehouse/server/testing/pebble";
import { createEmptyDatabase, databaseUrl } from "@gatehouse/server/testing/test-database";
import { until } from "@gatehouse/server/testing/until";
import { describe, expect, test } from "vitest";
import { GatehouseProcess } from "./testing/gatehouse-process.ts";

if (pebbleProblem !== undefined) console.warn(`gatehouse serve with ACME is not tested: ${pebbleProblem}.`);

const host = "gatehouse.example.com";

describe.skipIf(pebbleProblem !== undefined)("gatehouse serve with ACME", () => {
  /** Whether the server presents a certificate of an authority. The first one is self-signed. */
  async function hasCertificate(port: number): Promise<boolean> {
    const socket = connect({ host: "127.0.0.1", port, servername: host, rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const certificate = socket.getPeerX509Certificate();
    socket.destroy();
    return certificate?.issuer !== certificate?.subject;
  }

  async function status(port: number, ca: string): Promise<number | undefined> {
    const sent = get({ host: "127.0.0.1", port, servername: host, path: "/healthz", ca, headers: { host } });
    const [answer] = await once(sent, "response");
    answer.resume();
    return answer.statusCode;
  }

  // Replicas have 12 seconds to read the proof, so the two orders run at the same time.
  test.concurrent.each(["TLS-ALPN-01", "HTTP-01"])("serves HTTPS with a certificate over %s", async (challenge) => {
    const [port, httpPort] = [await freePort(), await freePort()];
    const [pebble, database] = [await Pebble.create(), await createEmptyDatabase()];
    const overHttp = challenge === "HTTP-01" ? ["--acme-http-port", String(httpPort)] : [];
    const server = new GatehouseProcess([
      ...["serve", "--port", String(port), "--public-url", `https://${host}`],
      ...["--database-url", databaseUrl(database), "--master-key", randomBytes(32).toString("base64")],
      ...["--acme-directory", pebble.directoryUrl, "--acme-ca", pebble.caFile, ...overHttp],
    ]);
    try {
      await pebble.start({ httpPort, tlsPort: port });
      expect(await server.serving()).toBe(`https://127.0.0.1:${port}`);
      await until("the server has a certificate", () => hasCertificate(port), 60_000);
      // Node.js verifies the chain and the name.
      expect(await status(port, await pebble.root())).toBe(200);
      expect(server.output).toContain(`https://${host}/console/enrol#`);
    } finally {
      server.kill("SIGTERM");
      await server.exited();
      await pebble.remove();
      await database.drop();
    }
  });
});
