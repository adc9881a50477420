import packet from "dns-packet";
import { expect, test } from "vitest";
import { type DnsMessage, decodeQuestion, mostRecords } from "./dns-message.ts";
import { answersTo, type Reply, replyBytes } from "./dns-reply.ts";

const decoded = (answers: readonly object[]): DnsMessage => ({
  ...packet.decode(packet.encode({ type: "response", answers: answers as never })), // types need fields that the encoder fills in
  rcode: "NOERROR",
  opcode: "QUERY",
});
const alias = (index: number) => ({ type: "CNAME", name: `c${index}`, ttl: 60, data: `c${index + 1}` });
const address = (name: string, data: string) => ({ type: "A", name, ttl: 60, data });

test("follows aliases in any order, and stops at loops", () => {
  const chain = [alias(1), alias(0), address("c2", "10.0.0.1"), address("c9", "10.0.0.2")];
  expect(answersTo("c0", "A", decoded(chain)).map(({ name }) => name)).toEqual(["c1", "c0", "c2"]);
  const loop = [alias(0), { ...alias(1), data: "c0" }, address("c1", "10.0.0.1")];
  expect(answersTo("c0", "A", decoded(loop))).toHaveLength(3);
});

test("reads each record of a long chain of aliases once", () => {
  let reads = 0;
  const counted = Array.from({ length: 2_000 }, (_none, index) => {
    const { name, ...rest } = alias(1_999 - index);
    const get = () => {
      reads += 1;
      return name;
    };
    return Object.defineProperty(rest, "name", { enumerable: true, get });
  });
  const answer = { ...decoded([]), answers: counted } as unknown as DnsMessage; // as decoded, with a counter
  answersTo("c0", "A", answer);
  expect(reads).toBeLessThan(10_000);
});

test("uses a bounded number of records", () => {
  const many = Array.from({ length: 1_000 }, (_none, index) => address("a", `10.0.${index >> 8}.${index & 255}`));
  expect(answersTo("a", "A", decoded(many))).toHaveLength(mostRecords);
});

test("reports a failure over TCP if a reply is longer than its declared length can be", () => {
  const query = decodeQuestion(packet.encode({ type: "query", id: 7, questions: [{ name: "a", type: "TXT" }] }));
  const reply = (count: number) => {
    const data = Buffer.alloc(250);
    const answers = Array.from({ length: count }, () => ({ type: "TXT", name: "a", ttl: 60, data }) as const);
    return replyBytes({ query: query as DnsMessage, reply: { rcode: "NOERROR", answers } }, "tcp");
  };
  expect(packet.decode(reply(240))).toMatchObject({ id: 7, rcode: "NOERROR" });
  expect(packet.decode(reply(250))).toMatchObject({ id: 7, rcode: "SERVFAIL", answers: [] });
});

test("reports a failure if a record cannot be encoded", () => {
  const name = "git.example.com";
  const query = decodeQuestion(packet.encode({ type: "query", id: 7, questions: [{ name, type: "CAA" }] }));
  // The library decodes 22,000 bytes that are not UTF-8 like this.
  const data = { flags: 0, tag: "issue", value: "\u{fffd}".repeat(22_000), issuerCritical: false };
  const reply = { rcode: "NOERROR", answers: [{ type: "CAA", name, ttl: 60, data }] } as const;
  for (const over of ["udp", "tcp"] as const) {
    const bytes = replyBytes({ query: query as DnsMessage, reply: reply as Reply }, over);
    expect(packet.decode(bytes)).toMatchObject({ id: 7, rcode: "SERVFAIL", questions: [{ name }], answers: [] });
  }
});
