import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { request } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { gatewayLinkSubprotocols } from "@gatehouse/agent-protocol/gateway/frames";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { StartError } from "../platform/start-error.ts";
import { firstCertificate, secondCertificate } from "../testing/certificates.ts";
import { TestClock } from "../testing/test-clock.ts";
import { testLog } from "../testing/test-log.ts";
import { startTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";
import { until } from "../testing/until.ts";
import { TlsCertificate, tlsCertificateTask } from "./tls-certificate.ts";

const folder = mkdtempSync(join(tmpdir(), "gatehouse-test-"));
const files = { certFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") };
let server: TestServer;
let tenant: TestTenant;
let port: number;

beforeAll(async () => {
  write(firstCertificate);
  server = await startTestServer({ settings: { tls: files, metrics: true } });
  tenant = await server.newTenant();
  port = Number(new URL(await server.listen()).port);
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

function write({ cert, key }: { readonly cert: string | Buffer; readonly key: string }): void {
  writeFileSync(files.certFile, cert);
  writeFileSync(files.keyFile, key);
}

/** Sends a request of HTTP/2. */
async function overHttp2(session: ClientHttp2Session, headers: Record<string, string>, body = "") {
  const stream = session.request({ apikey: tenant.key, ...headers }, { endStream: body === "" });
  if (body !== "") stream.end(body);
  const [answer] = await once(stream, "response");
  return { status: answer[":status"], headers: answer, body: await text(stream) };
}

async function withSession<T>(use: (session: ClientHttp2Session) => Promise<T>): Promise<T> {
  const session = connect(`https://localhost:${port}`, { ca: firstCertificate.cert });
  try {
    return await use(session);
  } finally {
    session.close();
  }
}

/** The certificate that a new connection gets. */
async function servedCertificate(): Promise<string> {
  const socket = connectTls({ host: "127.0.0.1", port, servername: "localhost", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  return raw.toString("base64");
}

/** Loads changed files. */
const reload = () => server.tasks.get(tlsCertificateTask)?.runNow();

/** Whether the server completes a handshake. */
function handshake(
  options: Pick<ConnectionOptions, "minVersion" | "maxVersion" | "ciphers" | "ecdhCurve">,
): Promise<boolean> {
  return new Promise((resolve) => {
    const whole = { host: "127.0.0.1", port, servername: "localhost", rejectUnauthorized: false, ...options };
    const socket = connectTls(whole, () => resolve(true)).once("error", () => resolve(false));
    socket.once("secureConnect", () => socket.destroy());
  });
}

function encoded({ cert }: { readonly cert: string }): string {
  return cert.replaceAll(/-----.*-----|\n/g, "");
}

describe("over TLS", () => {
  test("HTTP/2 serves reads and writes, also at the same time", async () => {
    await withSession(async (session) => {
      const body = JSON.stringify({ name: "Over HTTP/2" });
      const made = await overHttp2(
        session,
        { ":method": "POST", ":path": "/tenants/groups", "content-type": "application/json" },
        body,
      );
      expect(made).toMatchObject({ status: 201 });
      const reads = await Promise.all(
        Array.from({ length: 20 }, () => overHttp2(session, { ":path": "/tenants/groups" })),
      );
      for (const read of reads)
        expect(read).toMatchObject({ status: 200, body: expect.stringContaining("Over HTTP/2") });
    });
  });

  test("the metrics have the expiry of the certificate", async () => {
    const expiry = Date.parse(new X509Certificate(firstCertificate.cert).validTo) / 1_000;
    const line = `gatehouse_tls_certificate_expiry_seconds{source="file"} ${expiry}\n`;
    expect(await server.metrics?.text()).toContain(line);
  });

  test("HTTP/1.1 serves clients without HTTP/2", async () => {
    const call = request({ port, host: "127.0.0.1", servername: "localhost", ca: firstCertificate.cert, agent: false });
    call.path = "/tenants/groups";
    call.setHeader("apikey", tenant.key);
    call.end();
    const [answer] = await once(call, "response");
    expect([answer.statusCode, answer.httpVersion]).toEqual([200, "1.1"]);
    answer.resume();
  });

  test.each([
    ["TLSv1.3", undefined, true],
    ["TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256", true],
    ["TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384", true],
    ["TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305", true],
    ["TLSv1.2", "ECDHE-ECDSA-AES128-SHA", false],
    ["TLSv1.2", "ECDHE-ECDSA-AES128-SHA256", false],
    ["TLSv1.2", "ECDHE-ECDSA-AES256-SHA384", false],
    ["TLSv1.2", "ECDHE-ECDSA-AES128-CCM:ECDHE-ECDSA-AES128-CCM8", false],
    ["TLSv1.1", "ALL:@SECLEVEL=0", false],
  ] as const)("%s with the suite %s: %s", async (version, ciphers, isAccepted) => {
    expect(await handshake({ minVersion: version, maxVersion: version, ...(ciphers && { ciphers }) })).toBe(isAccepted);
    // A replaced certificate has the same limits.
    write(secondCertificate);
    await reload();
    expect(await handshake({ minVersion: version, maxVersion: version, ...(ciphers && { ciphers }) })).toBe(isAccepted);
    write(firstCertificate);
    await reload();
  });

  test.each([
    ["X25519", true],
    ["P-521", true],
    ["ffdhe8192", false],
  ])("TLS 1.3 with the group %s: %s", async (ecdhCurve, isAccepted) => {
    expect(await handshake({ minVersion: "TLSv1.3", ecdhCurve })).toBe(isAccepted);
  });

  test("agents open WebSockets", async () => {
    const gateway = await tenant.client.must.post("/tenants/gateways", { name: "Berlin", wireguardPort: "51820" });
    const socket = new WebSocket(`wss://localhost:${port}/gateway/v1/link`, gatewayLinkSubprotocols[2], {
      ca: firstCertificate.cert,
      headers: { authorization: `Bearer ${gateway.body.token}` },
    });
    await once(socket, "open");
    socket.terminate();
  });

  test("an upgrade to another protocol is served without it", async () => {
    const call = request({ port, host: "127.0.0.1", servername: "localhost", ca: firstCertificate.cert, agent: false });
    call.path = "/healthz";
    call.setHeader("connection", "upgrade");
    call.setHeader("upgrade", "other");
    call.end();
    const [answer] = await once(call, "response");
    expect(answer.statusCode).toBe(200);
    answer.resume();
  });

  test.each(["FOO", "get"])("the unknown method %s gets 400", async (method) => {
    await withSession(async (session) => {
      const refused = await overHttp2(session, { ":method": method, ":path": "/tenants/groups" });
      expect(refused).toMatchObject({ status: 400, body: expect.stringContaining("invalid_parameter") });
    });
  });

  test.each([
    ["of 15 KiB are accepted", 15_000, 200],
    ["of 17 KiB get 431", 17_000, 431],
    ["of 60 KiB get 431", 60_000, 431],
  ])("headers of HTTP/2 %s", async (_what, length, status) => {
    await withSession(async (session) => {
      const answer = await overHttp2(session, { ":path": "/tenants/groups", "x-long": "~".repeat(length) });
      expect(answer.status).toBe(status);
      if (status !== 200) expect(JSON.parse(answer.body)).toMatchObject({ code: "header_too_large" });
    });
  });

  test("a request of HTTP/1.1 without a Host header is refused", async () => {
    const socket = connectTls({ host: "127.0.0.1", port, servername: "localhost", ca: firstCertificate.cert });
    socket.end("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n");
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });

  test("a request with different hosts is refused", async () => {
    await withSession(async (session) => {
      const refused = await overHttp2(session, {
        ":path": "/tenants/groups",
        ":authority": `localhost:${port}`,
        host: "other.example.com",
      });
      expect(refused).toMatchObject({ status: 400, body: expect.stringContaining("several Host headers") });
    });
  });
});

// Eight streams run at once on a connection.
test.runIf(process.platform === "linux")("responses that nobody reads hold no open files", async () => {
  const settings = { initialWindowSize: 0 };
  const session = connect(`https://localhost:${port}`, { ca: firstCertificate.cert, settings });
  const stalled = Array.from({ length: 8 }, () => session.request({ ":path": "/docs/swagger-ui-bundle.js" }));
  const answers = await Promise.all(stalled.map((stream) => once(stream, "response")));
  expect(answers.map(([headers]) => headers[":status"])).toEqual(stalled.map(() => 200));
  expect(openFiles().filter((file) => file.includes("swagger-ui"))).toEqual([]);
  session.destroy();
});

function openFiles(): string[] {
  const descriptors = "/proc/self/fd";
  return readdirSync(descriptors).flatMap((name) => {
    try {
      return [readlinkSync(join(descriptors, name))];
    } catch {
      return []; // it was closed in the meantime
    }
  });
}

test("bodies without Content-Length count with the largest length that they can have", async () => {
  const { client, key } = await server.newTenant();
  await withSession(async (session) => {
    const post = { ":method": "POST", ":path": "/tenants/configuration/plan", "content-type": "application/json" };
    const arriving = Array.from({ length: 5 }, () => session.request({ ...post, apikey: key }, { endStream: false }));
    const [answer] = await Promise.race(arriving.map((stream) => once(stream, "response")));
    expect(answer[":status"]).toBe(429);
    for (const stream of arriving) stream.destroy();
    await until(
      "there is room again",
      async () => (await client.post("/tenants/groups", { name: "A" })).status === 201,
    );
  });
});

describe("a client that resets its streams", () => {
  let clock: TestClock;
  let target: TestServer;
  let targetPort: number;

  beforeEach(async () => {
    clock = new TestClock();
    const { operatorKey } = server;
    target = await startTestServer({ operatorKey, clock, settings: { tls: files } });
    targetPort = Number(new URL(await target.listen()).port);
    return () => target.close();
  });

  const open = () => connect(`https://localhost:${targetPort}`, { ca: firstCertificate.cert }).on("error", () => {});

  /** Opens and resets streams. */
  async function reset(session: ClientHttp2Session, count: number): Promise<void> {
    await once(session, "connect");
    for (let index = 0; index < count && !session.destroyed && !session.closed; index += 1) {
      const stream = session.request({ ":path": "/tenants/users" }).on("error", () => {});
      stream.close(constants.NGHTTP2_CANCEL);
      if (index % 50 === 0) await new Promise(setImmediate);
    }
  }

  test("keeps its connection for a few", async () => {
    const session = open();
    await reset(session, 100);
    const [answer] = await once(session.request({ ":path": "/healthz" }), "response");
    expect(answer[":status"]).toBe(200);
    session.destroy();
  });

  test("loses its connection for many, and has only HTTP/1.1 for a minute", async () => {
    const accepted = once(target.app.server, "connection");
    const session = open();
    const [ofServer] = await accepted;
    await reset(session, 500);
    const offer = { port: targetPort, host: "127.0.0.1", servername: "localhost", ca: firstCertificate.cert };
    const chosen = async () => {
      const socket = connectTls({ ...offer, ALPNProtocols: ["h2", "http/1.1"] });
      await once(socket, "secureConnect");
      socket.destroy();
      return socket.alpnProtocol;
    };
    await until("the address is served without HTTP/2", async () => (await chosen()) === "http/1.1");
    await until("the connection is closed", () => ofServer.destroyed);
    session.destroy();
    clock.advance(60_000);
    expect(await chosen()).toBe("h2");
  });
});

describe("a connection without a complete handshake", () => {
  /** The first bytes of a TLS record. */
  const begun = Buffer.from([22, 3, 1]);

  async function withServer(requestTimeoutMs: number, use: (hasty: TestServer, socket: Socket) => Promise<void>) {
    const { operatorKey } = server;
    const hasty = await startTestServer({ operatorKey, settings: { tls: files, requestTimeoutMs } });
    const hastyPort = Number(new URL(await hasty.listen()).port);
    const accepted = once(hasty.app.server, "connection");
    const socket = connectTcp(hastyPort, "127.0.0.1");
    socket.write(begun);
    const [ofServer] = await accepted;
    try {
      await use(hasty, socket);
    } finally {
      socket.destroy();
      ofServer.destroy();
      await hasty.close();
    }
  }

  test("is closed at the time limit", async () => {
    await withServer(200, async (_hasty, socket) => {
      expect(await text(socket)).toBe("");
    });
  });

  test("does not outlast the server", async () => {
    await withServer(30_000, async (hasty, socket) => {
      hasty.app.server.closeAllConnections();
      await once(socket, "close");
    });
  });
});

describe("after the files change", () => {
  beforeEach(async () => {
    write(firstCertificate);
    await reload();
    expect(await servedCertificate()).toBe(encoded(firstCertificate));
  });

  test("new connections get the new certificate, and open ones continue", async () => {
    await withSession(async (session) => {
      await overHttp2(session, { ":path": "/tenants/groups" });
      write(secondCertificate);
      await reload();
      expect(await servedCertificate()).toBe(encoded(secondCertificate));
      expect(await overHttp2(session, { ":path": "/tenants/groups" })).toMatchObject({ status: 200 });
    });
  });

  test.each([
    ["the key of another certificate", { cert: secondCertificate.cert, key: firstCertificate.key }],
    ["no certificate", { cert: "", key: firstCertificate.key }],
    ["no key", { cert: secondCertificate.cert, key: "no key" }],
    ["a file of more than 1 MiB", { cert: Buffer.alloc(1024 * 1024 + 1, 10), key: firstCertificate.key }],
  ])("%s keeps the previous certificate, until the pair is valid", async (_what, broken) => {
    write(broken);
    await reload();
    expect(await servedCertificate()).toBe(encoded(firstCertificate));
    write(secondCertificate);
    await reload();
    expect(await servedCertificate()).toBe(encoded(secondCertificate));
  });
});

describe("at the start", () => {
  const clock = { now: () => new Date("2126-12-01T00:00:00Z"), elapsedMs: () => 0 };

  test.each([
    ["a missing file", () => rmSync(files.keyFile), /tls\.key cannot be read \(ENOENT\)/],
    ["the key of another certificate", () => write({ ...secondCertificate, cert: firstCertificate.cert }), /belong to/],
    ["text", () => write({ cert: "text", key: "text" }), /tls\.crt contains no certificate in PEM/],
  ])("%s is an error that names the file", async (_what, prepare, message) => {
    write(firstCertificate);
    prepare();
    const opening = TlsCertificate.open({ files, clock, log: testLog });
    await expect(opening).rejects.toThrow(StartError);
    await expect(opening).rejects.toThrow(message);
    write(firstCertificate);
  });

  test("an expired certificate is used, because nothing else is there", async () => {
    write(firstCertificate);
    expect((await TlsCertificate.open({ files, clock, log: testLog })).pair.cert.toString()).toBe(
      firstCertificate.cert,
    );
  });
});
