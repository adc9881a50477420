import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { waitLimitMs } from "../../../../../test/wait-limit.ts";
import { type Answer, answering, WebhookReceiver } from "../../testing/webhook-receiver.ts";
import { systemClock } from "../clock.ts";
import { type GuardedPost, guardedPost } from "./guarded-post.ts";
import { allowedNetworks } from "./outbound-networks.ts";
import { performExchange } from "./perform-exchange.ts";
import type { ResolveHost } from "./resolve-host.ts";

let receiver: WebhookReceiver;
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  receiver = await WebhookReceiver.start();
  closing.push(() => receiver.close());
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const loopback = allowedNetworks(["127.0.0.1"]);

interface PostOptions extends Partial<GuardedPost> {
  readonly resolveHost?: ResolveHost;
}

function post(url: string, { resolveHost, ...more }: PostOptions = {}) {
  return guardedPost({
    exchange: (request, signal) => performExchange(request, signal, resolveHost),
    tenantId: "acme",
    url: new URL(url),
    headers: { "webhook-id": "1" },
    body: '{"n": "ü"}',
    timeoutMs: 5_000,
    networks: loopback,
    signal: new AbortController().signal,
    clock: systemClock,
    ...more,
  });
}

/** A resolver that returns these addresses one after another, and repeats the last. */
function resolving(...answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  return {
    asked,
    async resolveHost(hostname: string): Promise<LookupAddress[]> {
      const answer = answers[Math.min(asked.length, answers.length - 1)] ?? [];
      asked.push(hostname);
      return answer.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    },
  };
}

const forbidden = {
  kind: "failed",
  problem: "the host has no address that webhooks can be sent to, or its name cannot be resolved",
};

const tooMany = "the server sent more bytes than Gatehouse accepts";

describe("a request", () => {
  test("arrives completely, and returns status and duration", async () => {
    expect(await post(receiver.url)).toEqual({
      kind: "answered",
      statusCode: 204,
      retryAfter: undefined,
      durationMs: expect.any(Number),
    });
    expect(receiver.received).toMatchObject([
      {
        method: "POST",
        body: '{"n": "ü"}',
        headers: { "webhook-id": "1", "content-length": "11", connection: "close" },
      },
    ]);
  });

  test("returns Retry-After", async () => {
    receiver.answer = answering(503, { "retry-after": "7" });
    expect(await post(receiver.url)).toMatchObject({ statusCode: 503, retryAfter: "7" });
  });

  test("connects to the address of an allowed name and sends the name", async () => {
    const { asked, resolveHost } = resolving(["127.0.0.1"]);
    expect(await post(`http://hooks.example.com:${receiver.port}/`, { resolveHost })).toMatchObject({
      statusCode: 204,
    });
    expect(receiver.received[0]?.headers.host).toBe(`hooks.example.com:${receiver.port}`);
    expect(asked).toEqual(["hooks.example.com"]);
  });

  test("ignores proxies in the environment", async () => {
    const variables = ["http_proxy", "HTTP_PROXY", "ALL_PROXY"];
    for (const name of variables) process.env[name] = "http://127.0.0.1:1";
    try {
      expect(await post(receiver.url)).toMatchObject({ statusCode: 204 });
    } finally {
      for (const name of variables) delete process.env[name];
    }
  });
});

describe("a request never connects to", () => {
  /** Each of these would reach the receiver, or could be an internal address. */
  test.each([
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f.1",
    "017700000001",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "224.0.0.1",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::7f00:1]",
    "[fe80::1]",
    "[fd00:ec2::254]",
  ])("%s", async (host) => {
    for (const scheme of ["http", "https"]) {
      const url = `${scheme}://${host}:${receiver.port}/`;
      expect(await post(url, { networks: [] }), url).toMatchObject(forbidden);
    }
    expect(receiver.received).toEqual([]);
  });

  test.each([
    [["127.0.0.1"]],
    [["::1"]],
    [["::ffff:127.0.0.1"]],
    [["10.0.0.1", "169.254.169.254"]],
    [["fe80::1%eth0"]],
    [["not an address"]],
    [[]],
  ])("a name that resolves to %j", async (addresses) => {
    for (const scheme of ["http", "https"]) {
      const url = `${scheme}://hooks.example.com:${receiver.port}/`;
      expect(await post(url, { networks: [], ...resolving(addresses) }), url).toMatchObject(forbidden);
    }
    expect(receiver.received).toEqual([]);
  });

  test("a local name that resolves to loopback", async () => {
    expect(await post(`http://localhost:${receiver.port}/`, { networks: [] })).toMatchObject(forbidden);
  });

  test("a name that cannot be resolved, with the same problem", async () => {
    const resolveHost = async () => {
      throw Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
    };
    expect(await post("https://hooks.example.com/", { resolveHost })).toMatchObject(forbidden);
  });

  test("a public address without TLS", async () => {
    expect(await post("http://hooks.example.com/", resolving(["1.1.1.1"]))).toMatchObject(forbidden);
  });

  test("the private address of a name that also has a public one", async () => {
    // A connection to the private address would reach the receiver.
    const mixed = resolving(["127.0.0.1", "240.0.0.1", "::1"]);
    const networks = allowedNetworks(["240.0.0.0/4"]);
    const outcome = await post(`http://hooks.example.com:${receiver.port}/`, { networks, timeoutMs: 300, ...mixed });
    expect(outcome.kind).toBe("failed");
    expect(receiver.received).toEqual([]);
  });

  test("the second answer of a name that changes between check and connection", async () => {
    const rebinding = resolving(["240.0.0.1"], ["127.0.0.1"]);
    const networks = allowedNetworks(["240.0.0.0/4"]);
    const url = `http://hooks.example.com:${receiver.port}/`;
    expect((await post(url, { networks, timeoutMs: 300, ...rebinding })).kind).toBe("failed");
    expect(rebinding.asked).toHaveLength(1);
    expect(await post(url, { networks, ...rebinding })).toMatchObject(forbidden);
    expect(receiver.received).toEqual([]);
  });

  test.each([301, 302, 303, 307, 308])("the target of a redirect with %i", async (status) => {
    const inside = await WebhookReceiver.start();
    closing.push(() => inside.close());
    receiver.answer = answering(status, { location: inside.url });
    expect(await post(receiver.url)).toMatchObject({ kind: "answered", statusCode: status });
    expect(inside.received).toEqual([]);
  });

  test("a server with an untrusted certificate, whatever the environment says", async () => {
    const { key, cert } = selfSigned;
    let reached = false;
    const server = createSecureServer({ key, cert }, (_request, response) => {
      reached = true;
      response.end();
    });
    await listen(server);
    const environment = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      const outcome = await post(`https://localhost:${portOf(server)}/`, resolving(["127.0.0.1"]));
      expect(outcome).toMatchObject({ kind: "failed", problem: expect.stringContaining("TLS") });
    } finally {
      if (environment === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = environment;
    }
    expect(reached).toBe(false);
  });
});

describe("a receiver that", () => {
  const timeoutMs = 200;

  test("never responds times out", async () => {
    receiver.answer = () => undefined;
    expect(await post(receiver.url, { timeoutMs })).toMatchObject({
      kind: "failed",
      problem: "no response within 0.2 seconds",
    });
  });

  test("never completes the handshake times out", async () => {
    const server = await rawServer(() => undefined);
    expect(await post(`http://127.0.0.1:${portOf(server)}/`, { timeoutMs })).toMatchObject({ kind: "failed" });
  });

  test("has a name that is not resolved in time times out", async () => {
    let lookup: AbortSignal | undefined;
    const resolveHost = (_hostname: string, signal: AbortSignal) => {
      lookup = signal;
      return new Promise<never>(() => undefined);
    };
    const outcome = await post("https://hooks.example.com/", { timeoutMs, resolveHost });
    expect(outcome).toMatchObject({ kind: "failed", problem: "no response within 0.2 seconds" });
    await expect.poll(() => lookup?.aborted).toBe(true);
  });

  test("sends its headers slowly times out", async () => {
    const server = await rawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const timer = setInterval(() => socket.write("x: y\r\n"), 5);
      socket.on("close", () => clearInterval(timer));
    });
    expect(await post(`http://127.0.0.1:${portOf(server)}/`, { timeoutMs })).toMatchObject({ kind: "failed" });
  });

  /** The time limits of the others only end what never happens. */
  const said200: readonly [what: string, answer: Answer, timeoutMs?: number][] = [
    [
      "sends a huge body",
      (response) => {
        response.writeHead(200);
        response.on("error", () => undefined);
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        };
        response.on("drain", more);
        more();
      },
    ],
    [
      "sends its body slowly",
      (response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write("."), 5);
        response.on("close", () => clearInterval(timer));
      },
      1_000,
    ],
    [
      "closes midway through its body",
      (response) => void response.writeHead(200, { "content-length": "100" }).write("half", () => response.destroy()),
    ],
    [
      "resets after its headers",
      (response) =>
        void response.writeHead(200, { "content-length": "9" }).write("", () => response.socket?.resetAndDestroy()),
    ],
    [
      "declares another content type",
      (response) => void response.writeHead(200, { "content-type": "application/json" }).end("<html>"),
    ],
    [
      "declares a compressed body",
      (response) => void response.writeHead(200, { "content-encoding": "gzip" }).end("plain"),
    ],
  ];
  test.each<[what: string, answer: Answer, timeoutMs?: number]>(said200)(
    "%s has still responded",
    async (_what, answer, limitMs = waitLimitMs) => {
      receiver.answer = answer;
      expect(await post(receiver.url, { timeoutMs: limitMs })).toMatchObject({ kind: "answered", statusCode: 200 });
    },
  );

  test.each([
    ["closes without a response", ""],
    ["closes midway through its headers", "HTTP/1.1 200 OK\r\nx"],
    ["uses another protocol", "220 mail.example.com ESMTP\r\n"],
    ["sends endless headers", `HTTP/1.1 200 OK\r\n${`x: ${"y".repeat(1000)}\r\n`.repeat(100)}`],
    ["changes the protocol", "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n"],
    ["sends only an interim response", "HTTP/1.1 100 Continue\r\n\r\n"],
  ])("%s has failed", async (_what, text) => {
    const server = await rawServer((socket) => socket.end(text));
    const outcome = await post(`http://127.0.0.1:${portOf(server)}/`);
    expect(outcome).toMatchObject({ kind: "failed", problem: expect.stringMatching(/^(the|no) /) });
  });

  test.each([
    ["interim responses", "", "HTTP/1.1 100 Continue\r\n\r\n"],
    [
      "extensions of chunks",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
      `1;${"x".repeat(8_000)}\r\n.\r\n`,
    ],
  ])("sends endless %s is disconnected", async (_what, start, repeated) => {
    const server = await rawServer((socket) => {
      const more = () => {
        while (!socket.destroyed && socket.bytesWritten < 100_000_000 && socket.write(repeated.repeat(100)));
      };
      socket.on("drain", more);
      socket.write(start);
      more();
    });
    const closed = once(server, "closed");
    const outcome = await post(`http://127.0.0.1:${portOf(server)}/`, { timeoutMs: waitLimitMs });
    expect(outcome).toMatchObject(start === "" ? { kind: "failed", problem: tooMany } : { statusCode: 200 });
    const [sent] = await closed;
    expect(sent).toBeLessThan(20_000_000); // what the buffers of the kernel hold
  });

  test("sends interim responses before its response has responded", async () => {
    const server = await rawServer((socket) =>
      socket.end(`${"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(3)}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`),
    );
    expect(await post(`http://127.0.0.1:${portOf(server)}/`)).toMatchObject({ kind: "answered", statusCode: 200 });
  });

  test("sends a long chain of certificates has failed", async () => {
    const { key, cert } = selfSigned;
    const server = createSecureServer({ key, cert: cert.repeat(50) });
    server.on("tlsClientError", () => undefined);
    await listen(server);
    const outcome = await post(`https://localhost:${portOf(server)}/`, resolving(["127.0.0.1"]));
    expect(outcome).toMatchObject({ kind: "failed", problem: tooMany });
  });

  test("negotiates TLS gets only suites and groups whose key exchange is fast", async () => {
    const hello = new Promise<Buffer>((resolve) => {
      void rawServer((socket, data) => {
        resolve(data);
        socket.destroy();
      }).then((server) => post(`https://hooks.example.com:${portOf(server)}/`, resolving(["127.0.0.1"])));
    });
    const { suites, groups } = offered(await hello);
    const fast = ["c02b", "c02c", "cca9", "c02f", "c030", "cca8"]; // ECDHE with AEAD
    const ofTls13 = ["1301", "1302", "1303"];
    const renegotiation = ["00ff"]; // no suite, but a signal (RFC 5746)
    expect(suites.toSorted()).toEqual([...fast, ...ofTls13, ...renegotiation].toSorted());
    expect(groups.toSorted()).toEqual(["0017", "0018", "0019", "001d"]);
  });

  test("that is unreachable fails with a problem without an address", async () => {
    const { url } = receiver;
    await closing.pop()?.();
    expect(await post(url)).toMatchObject({ kind: "failed", problem: "the connection was refused" });
  });
});

describe("a request whose signal is aborted", () => {
  test("ends immediately as aborted", async () => {
    const controller = new AbortController();
    receiver.answer = () => controller.abort();
    expect(await post(receiver.url, { signal: controller.signal })).toMatchObject({ kind: "aborted" });
    expect(await post(receiver.url, { signal: controller.signal })).toMatchObject({ kind: "aborted" });
    expect(receiver.received).toHaveLength(1);
  });
});

/** The suites and groups of a ClientHello (RFC 8446, section 4.1.2), as hexadecimal numbers. */
function offered(record: Buffer): { readonly suites: readonly string[]; readonly groups: readonly string[] } {
  const pairs = (bytes: Buffer) => bytes.toString("hex").match(/..../g) ?? [];
  let at = 43; // after the headers, the version and the random bytes
  const vector = (lengthBytes: 1 | 2) => {
    const start = at + lengthBytes;
    at = start + record.readUIntBE(at, lengthBytes);
    return record.subarray(start, at);
  };
  vector(1); // the session id
  const suites = pairs(vector(2));
  vector(1); // the compression methods
  at += 2; // the length of the extensions
  while (at < record.length) {
    const type = record.readUInt16BE(at);
    at += 2;
    const content = vector(2);
    if (type === 10) return { suites, groups: pairs(content.subarray(2)) };
  }
  throw new Error("the message has no groups");
}

/** Emits "closed" with the number of bytes that a connection sent. */
async function rawServer(greet: (socket: Socket, data: Buffer) => void): Promise<Server> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("close", () => server.emit("closed", socket.bytesWritten));
    socket.once("data", (data) => greet(socket, data));
  });
  await listen(server);
  return server;
}

async function listen(server: Server): Promise<void> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, "close");
  });
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port; // of a server that listens on TCP
}

/** A PEM block. */
function pem(label: string, base64: string): string {
  return `-----BEGIN ${label}-----\n${base64.match(/.{1,64}/g)?.join("\n")}\n-----END ${label}-----\n`;
}

/** A self-signed certificate for localhost, used only in this test. */
const selfSigned = {
  key: pem(
    "PRIVATE KEY",
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRB6Y6q7CSeDShKf3MVjN/2FuQaxMCkwIpx5nV1j3yhehRANCAAQU" +
      "t6JOfndWcFje0tedR1Fo8fZEu4hifGrfV0KiRviJYW1arU+BVbWXXRTXXqsGGRzcHEYFk+iotb/IjDWpwcZS",
  ),
  cert: pem(
    "CERTIFICATE",
    "MIIBljCCATugAwIBAgIUe0wg1FnGaESst0C6VsvcZolIT7swCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2" +
      "MTEyMTExNDE0NFoYDzIxMjYxMDI4MTE0MTQ0WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC" +
      "AAQUt6JOfndWcFje0tedR1Fo8fZEu4hifGrfV0KiRviJYW1arU+BVbWXXRTXXqsGGRzcHEYFk+iotb/IjDWpwcZSo2kwZzAdBgNV" +
      "HQ4EFgQU/p9kyRGAnhYzJR2BqTuFIFXMOJkwHwYDVR0jBBgwFoAU/p9kyRGAnhYzJR2BqTuFIFXMOJkwDwYDVR0TAQH/BAUwAwEB" +
      "/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwIDSQAwRgIhAJST6dvrfkO6dqpNI9KTm1CivFvrqoR95Y2JdX5rLIOc" +
      "AiEA8VvEij5XvqUQENU66QsqdQ/vXEAzRSVFOTRwLXQj22c=",
  ),
};
