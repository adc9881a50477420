import { createSocket } from "node:dgram";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { hostResolver, type ResolveHost } from "./resolve-host.ts";

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const never = new AbortController().signal;
const typeA = 1;
const typeAaaa = 28;

test("returns the IPv4 and the IPv6 addresses of a name", async () => {
  const { resolve } = await dnsServer({
    [typeA]: [[192, 0, 2, 1]],
    [typeAaaa]: [[0x20, 1, 0xd, 0xb8, ...Array(12).fill(1)]],
  });
  expect(await resolve("hooks.example.com", never)).toEqual([
    { address: "192.0.2.1", family: 4 },
    { address: "2001:db8:101:101:101:101:101:101", family: 6 },
  ]);
});

test("returns the addresses of one family if the other has none", async () => {
  const { resolve } = await dnsServer({ [typeA]: [[192, 0, 2, 1]] });
  expect(await resolve("hooks.example.com", never)).toEqual([{ address: "192.0.2.1", family: 4 }]);
});

test("fails for a name without addresses", async () => {
  const { resolve } = await dnsServer({});
  await expect(resolve("hooks.example.com", never)).rejects.toThrow("ENOTFOUND");
});

test("asks the next server if the first one refuses, and fails with its error if all do", async () => {
  const [refusing, answering] = [await dnsServer("refused"), await dnsServer({ [typeA]: [[192, 0, 2, 1]] })];
  const resolve = hostResolver([refusing.address, answering.address]);
  expect(await resolve("hooks.example.com", never)).toEqual([{ address: "192.0.2.1", family: 4 }]);
  expect(refusing.asked).toHaveLength(2);
  await expect(refusing.resolve("hooks.example.com", never)).rejects.toThrow("EREFUSED");
});

test("asks for the name as it is, without search domains", async () => {
  const { resolve, asked } = await dnsServer({});
  await expect(resolve("hooks", never)).rejects.toThrow("ENOTFOUND");
  expect([...new Set(asked)]).toEqual(["hooks"]);
});

test.each(["localhost", "localhost.", "hooks.localhost"])("resolves %s to loopback without DNS", async (name) => {
  const { resolve, asked } = await dnsServer({ [typeA]: [[192, 0, 2, 1]] });
  expect(await resolve(name, never)).toEqual([
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ]);
  expect(asked).toEqual([]);
});

test("ends with its signal, although the DNS server never answers", async () => {
  const { resolve, askedOnce } = await dnsServer(undefined);
  const controller = new AbortController();
  const resolving = resolve("hooks.example.com", controller.signal);
  const ending = expect(resolving).rejects.toThrow("ECANCELLED");
  await askedOnce;
  controller.abort();
  await ending;
  await expect(resolve("hooks.example.com", controller.signal)).rejects.toThrow("aborted");
});

interface DnsServer {
  readonly address: string;
  readonly resolve: ResolveHost;
  readonly asked: readonly string[];
  readonly askedOnce: Promise<unknown>;
}

/**
 * @param records the addresses by type; a name without any does not exist; undefined for a server without answers, and
 *   "refused" for one that refuses all questions
 */
async function dnsServer(
  records: Readonly<Record<number, readonly (readonly number[])[]>> | "refused" | undefined,
): Promise<DnsServer> {
  const server = createSocket("udp4");
  const asked: string[] = [];
  server.on("message", (query, { port, address }) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString("latin1", at + 1, at + 1 + length));
      at += 1 + length;
    }
    asked.push(labels.join("."));
    server.emit("asked");
    if (records === undefined) return;
    const type = query.readUInt16BE(at + 1);
    const isRefused = records === "refused";
    const answers = isRefused ? [] : (records[type] ?? []);
    const header = Buffer.from(query.subarray(0, 12));
    const nameExists = Object.keys(records).length > 0;
    header.writeUInt16BE(isRefused ? 0x8185 : nameExists ? 0x8180 : 0x8183, 2);
    for (const [index, count] of [1, answers.length, 0, 0].entries()) header.writeUInt16BE(count, 4 + 2 * index);
    const encoded = answers.map((bytes) => [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes]);
    server.send(Buffer.concat([header, query.subarray(12, at + 5), Buffer.from(encoded.flat())]), port, address);
  });
  const askedOnce = once(server, "asked");
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    server.close();
    await once(server, "close");
  });
  const address = `127.0.0.1:${server.address().port}`;
  return { address, resolve: hostResolver([address]), asked, askedOnce };
}
