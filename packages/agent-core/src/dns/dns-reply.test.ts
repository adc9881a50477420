import packet, { type TxtAnswer } from "dns-packet";
import { expect, test } from "vitest";
import { type DnsMessage, decodeQuestion, mostRecords } from "./dns-message.ts";
import { answersTo, replyBytes, replyOf } from "./dns-reply.ts";

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

const queryOf = (type: "TXT" | "CAA", additionals: readonly never[] = []) => {
  const questions = [{ name: "git.example.com", type }];
  return decodeQuestion(
    packet.encode({ type: "query", id: 7, questions, additionals: [...additionals] }),
  ) as DnsMessage;
};
const text = (bytes: number): TxtAnswer => ({
  type: "TXT",
  name: "git.example.com",
  ttl: 60,
  data: [Buffer.alloc(bytes)],
});

test("truncates a reply to the size that the question allows", () => {
  const reply = replyOf("NOERROR", [text(200), text(200), text(200)]);
  const option = { type: "OPT", name: ".", udpPayloadSize: 4096, flags: 0, options: [] } as never; // the types require fields that the library fills in
  const plain = packet.decode(replyBytes({ query: queryOf("TXT"), reply }, "udp"));
  expect(plain).toMatchObject({ id: 7, flag_tc: true, questions: [{ name: "git.example.com" }], answers: [] });
  for (const bytes of [
    replyBytes({ query: queryOf("TXT", [option]), reply }, "udp"),
    replyBytes({ query: queryOf("TXT"), reply }, "tcp"),
  ]) {
    const { answers } = packet.decode(bytes);
    expect(packet.decode(bytes)).toMatchObject({ id: 7, flag_tc: false, questions: [{ name: "git.example.com" }] });
    expect(answers).toMatchObject([text(200), text(200), text(200)]);
  }
});

test("reports a failure if the records are longer than 16 KiB", () => {
  const reply = (count: number) => {
    const answers = Array.from({ length: count }, () => text(200));
    return replyBytes({ query: queryOf("TXT"), reply: replyOf("NOERROR", answers) }, "tcp");
  };
  expect(packet.decode(reply(70))).toMatchObject({ id: 7, rcode: "NOERROR" });
  expect(packet.decode(reply(80))).toMatchObject({ id: 7, rcode: "SERVFAIL", answers: [] });
});

test("reports a failure if a record cannot be encoded", () => {
  // The library decodes 22,000 bytes that are not UTF-8 like this.
  const data = { flags: 0, tag: "issue", value: "\u{fffd}".repeat(22_000), issuerCritical: false } as const;
  const reply = replyOf("NOERROR", [{ type: "CAA", name: "git.example.com", ttl: 60, data }]);
  const questions = [{ name: "git.example.com" }];
  for (const over of ["udp", "tcp"] as const) {
    const bytes = replyBytes({ query: queryOf("CAA"), reply }, over);
    expect(packet.decode(bytes)).toMatchObject({ id: 7, rcode: "SERVFAIL", questions, answers: [] });
  }
});
