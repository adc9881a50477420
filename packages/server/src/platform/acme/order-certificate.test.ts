import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { firstCertificate, secondCertificate, unreadableCertificate } from "../../testing/certificates.ts";
import { systemClock } from "../clock.ts";
import { createAccountKey, orderCertificate, orderProblem, requireUsable } from "./order-certificate.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function authority(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  servers.push(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // listens on TCP
}

async function order(directoryUrl: string, signal = new AbortController().signal) {
  return orderCertificate({
    ...{ directoryUrl, signal, host: "gatehouse.example.com", contact: undefined, challengeType: "http-01" },
    accountKey: await createAccountKey(),
    clock: systemClock,
    present: () => expect.fail("no challenge is needed"),
  });
}

/** Answers as an authority whose orders never become ready. */
function undecided(waiting: () => void): RequestListener {
  return (request, response) => {
    const base = `http://${request.headers.host}`;
    const answers: Readonly<Record<string, object>> = {
      "/directory": { newNonce: `${base}/nonce`, newAccount: `${base}/account`, newOrder: `${base}/order` },
      "/order": { status: "ready", authorizations: [], finalize: `${base}/finalize` },
      "/finalize": { status: "processing" },
    };
    const { url = "" } = request;
    if (url === "/order/1") setImmediate(waiting);
    response.writeHead(["/account", "/order"].includes(url) ? 201 : 200, {
      ...{ "content-type": "application/json", "replay-nonce": "nonce", location: `${base}${url}/1` },
    });
    response.end(JSON.stringify(answers[url] ?? { status: "processing" }));
  };
}

test.each([429, 503])(
  "an authority that answers %i ends the order, however long it wants us to wait",
  async (status) => {
    let requests = 0;
    const url = await authority((_request, response) => {
      requests += 1;
      response.writeHead(status, { "retry-after": "86400" }).end();
    });
    await expect(order(url)).rejects.toThrow(String(status));
    expect(requests).toBe(1);
  },
);

test("an authority that cannot be reached is named as the reason", async () => {
  const url = await authority(() => undefined);
  servers[0]?.close();
  const reason = await order(url).catch(orderProblem);
  expect(reason).toMatch(/ECONNREFUSED/);
});

test("a signal ends an order that waits for an answer", async () => {
  const stopping = new AbortController();
  const url = await authority(() => stopping.abort());
  await expect(order(url, stopping.signal)).rejects.toThrow("canceled");
});

test("a signal ends an order that waits for a decision", async () => {
  const stopping = new AbortController();
  const url = await authority(undecided(() => stopping.abort()));
  await expect(order(`${url}/directory`, stopping.signal)).rejects.toThrow(/cancell?ed|aborted/);
});

/** Answers as an authority that issues this certificate, whatever the request was. */
function issuing(certificate: string): RequestListener {
  return (request, response) => {
    const base = `http://${request.headers.host}`;
    const done = {
      status: "valid",
      authorizations: [],
      finalize: `${base}/finalize`,
      certificate: `${base}/certificate`,
    };
    const answers: Readonly<Record<string, object>> = {
      "/directory": { newNonce: `${base}/nonce`, newAccount: `${base}/account`, newOrder: `${base}/order` },
      "/account": { status: "valid" },
    };
    const { url = "" } = request;
    response.writeHead(["/account", "/order"].includes(url) ? 201 : 200, {
      ...{ "content-type": url === "/certificate" ? "application/pem-certificate-chain" : "application/json" },
      ...{ "replay-nonce": "nonce", location: `${base}${url}/1` },
    });
    response.end(url === "/certificate" ? certificate : JSON.stringify(answers[url] ?? done));
  };
}

test("a certificate for another key is refused, because the server could not start with it", async () => {
  const url = await authority(issuing(firstCertificate.cert));
  await expect(order(`${url}/directory`)).rejects.toThrow("belongs to another key");
});

test("a response of more than 1 MiB fails the order", async () => {
  const url = await authority(issuing(firstCertificate.cert.repeat(2_000)));
  await expect(order(`${url}/directory`)).rejects.toThrow(/maxContentLength/);
});

test.each([
  ["another key", secondCertificate.key, "localhost", "2027-01-01", /another key/],
  ["another host", firstCertificate.key, "gatehouse.example.com", "2027-01-01", /not valid for gatehouse/],
  ["an expired certificate", firstCertificate.key, "localhost", "2127-01-01", /expired/],
])("%s makes a certificate unusable", (_what, privateKey, host, now, message) => {
  const { cert } = firstCertificate;
  expect(() => requireUsable(cert, firstCertificate.key, "localhost", new Date("2027-01-01"))).not.toThrow();
  expect(() => requireUsable(cert, privateKey, host, new Date(now))).toThrow(message);
});

test("a chain with a second certificate that cannot be read is unusable", () => {
  const { cert, key } = firstCertificate;
  const judge = (chain: string) => () => requireUsable(chain, key, "localhost", new Date("2027-01-01"));
  expect(judge(cert + secondCertificate.cert)).not.toThrow();
  expect(judge(cert + unreadableCertificate)).toThrow("TLS cannot use the certificate chain: ");
});

test("a chain that clients would refuse is unusable", () => {
  const { cert, key } = firstCertificate;
  const judge = (chain: string) => () => requireUsable(chain, key, "localhost", new Date("2027-01-01"));
  expect(judge(cert.repeat(10))).not.toThrow();
  expect(judge(cert.repeat(11))).toThrow("too long for clients: certificates 11,");
  expect(judge(`${cert}${"comment\n".repeat(9_000)}`)).toThrow("bytes 72611; at most 10 and 65536");
});
