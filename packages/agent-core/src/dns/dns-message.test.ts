import packet from "dns-packet";
import { expect, test, vi } from "vitest";
import { expensiveMessage } from "../testing/expensive-message.ts";
import { decodeAnswer, decodeQuestion, hasOtherOpcode, longestQuestionBytes, mostRecords } from "./dns-message.ts";

const option = { type: "OPT", name: ".", udpPayloadSize: 1232, flags: 0, options: [] } as never; // the types require fields that the library fills in
const question = { name: "git.example.com", type: "A" } as const;
const answer = { ...question, ttl: 60, data: "10.90.0.7" } as const;
const nsec = { type: "NSEC" as const, name: ".", data: { nextDomain: ".", rrtypes: ["A"] } };
const record = (index: number) => ({ ...answer, data: `10.90.${index >> 8}.${index & 255}` });

function isDecoded(decode: (bytes: Buffer) => unknown, bytes: Buffer): boolean {
  const spy = vi.spyOn(packet, "decode");
  try {
    decode(bytes);
    return spy.mock.calls.length > 0;
  } finally {
    spy.mockRestore();
  }
}

test("decodes a single question, with and without an OPT record", () => {
  for (const additionals of [[], [option]]) {
    const bytes = packet.encode({ type: "query", questions: [question], additionals });
    expect(decodeQuestion(bytes)).toMatchObject({ opcode: "QUERY", questions: [question] });
    expect(decodeQuestion(bytes.subarray(0, bytes.length - 1))).toBeUndefined();
  }
  const root = packet.encode({ type: "query", questions: [{ name: ".", type: "NS" }] });
  expect(decodeQuestion(root)).toMatchObject({ questions: [{ name: ".", type: "NS" }] });
});

test("does not decode other messages as questions", () => {
  const pointer = packet.encode({ type: "query", questions: [{ name: "a", type: "A" }] });
  pointer.writeUInt16BE(0xc000, 12);
  const label = packet.encode({ type: "query", questions: [question] });
  label[12] = 64;
  const name = "a.".repeat(127);
  const padded = Buffer.concat([packet.encode({ type: "query", questions: [question] }), Buffer.alloc(1232)]);
  const others = [
    Buffer.alloc(0),
    Buffer.from("no DNS"),
    packet.encode({ type: "response", questions: [question] }),
    packet.encode({ type: "query", questions: [] }),
    packet.encode({ type: "query", questions: [question, question] }),
    packet.encode({ type: "query", questions: [question], answers: [answer] }),
    packet.encode({ type: "query", questions: [question], authorities: [answer] }),
    packet.encode({ type: "query", questions: [question], additionals: [answer] }),
    packet.encode({ type: "query", questions: [question], additionals: [option, option] }),
    packet.encode({ type: "query", questions: [{ name: `${name}a`, type: "A" }] }),
    pointer,
    label,
    padded,
    expensiveMessage(longestQuestionBytes, "query"),
    expensiveMessage(65_507, "query"),
  ];
  for (const bytes of others) expect(isDecoded(decodeQuestion, bytes)).toBe(false);
});

test("recognizes updates without decoding them", () => {
  const update = packet.encode({ type: "query", flags: 5 << 11, questions: [question], authorities: [answer] });
  expect(hasOtherOpcode(update)).toBe(true);
  expect(hasOtherOpcode(packet.encode({ type: "query", questions: [question] }))).toBe(false);
  expect(hasOtherOpcode(Buffer.alloc(2))).toBe(false);
});

test("decodes the first answers of a resolver, and no other records", () => {
  const answers = Array.from({ length: mostRecords + 1 }, (_, index) => record(index));
  const bytes = packet.encode({ type: "response", questions: [question], answers, additionals: [option] });
  const decoded = decodeAnswer(bytes, "A");
  expect(decoded?.answers).toHaveLength(mostRecords);
  expect(decoded?.additionals).toEqual([]);
});

test("does not decode answers of other types, and decodes those behind them", () => {
  const alias = { type: "CNAME", name: question.name, ttl: 60, data: "host.example.net" } as const;
  const others = Array.from({ length: mostRecords + 1 }, () => nsec);
  const answers = [alias, ...others, { ...answer, type: "AAAA", data: "fd90::7" } as const, answer];
  const bytes = packet.encode({ type: "response", questions: [question], answers });
  expect(decodeAnswer(bytes, "A")?.answers).toMatchObject([alias, answer]);
});

test("does not decode answers to a question of another type", () => {
  const bytes = packet.encode({ type: "response", questions: [{ ...question, type: "NSEC" }], answers: [nsec] });
  expect(decodeAnswer(bytes, "A")).toBeUndefined();
});

test("finds the next answer by the declared length of the previous one, unlike the library", () => {
  const bytes = packet.encode({ type: "response", questions: [question], answers: [answer, nsec, record(1)] });
  bytes.writeUInt16BE(2, 6);
  const hidden = packet.encodingLength({ answers: [nsec] }) - packet.encodingLength({});
  bytes.writeUInt16BE(4 + hidden, bytes.indexOf(Buffer.from([0, 4, 10, 90])));
  expect(decodeAnswer(bytes, "A")?.answers).toMatchObject([answer, record(1)]);
});

test("does not decode answers that end outside the message", () => {
  const bytes = packet.encode({ type: "response", questions: [question], answers: [answer] });
  expect(decodeAnswer(bytes.subarray(0, bytes.length - 1), "A")).toBeUndefined();
  bytes.writeUInt16BE(2, 6);
  expect(decodeAnswer(bytes, "A")).toBeUndefined();
});

test("decodes answers with compressed names", () => {
  const [head, tail] = [packet.encode({ type: "response", questions: [question] }), Buffer.alloc(16)];
  head.writeUInt16BE(1, 6);
  tail.writeUInt16BE(0xc00c, 0);
  tail.set([0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 90, 0, 7], 2);
  expect(decodeAnswer(Buffer.concat([head, tail]), "A")?.answers).toMatchObject([answer]);
});

test("does not decode TXT answers with very many strings", () => {
  const answersWith = (...counts: readonly number[]) => {
    const texts = counts.map((count) => ({
      ...question,
      type: "TXT" as const,
      ttl: 60,
      data: Array.from({ length: count }, () => Buffer.alloc(0)),
    }));
    const bytes = packet.encode({ type: "response", questions: [{ ...question, type: "TXT" }], answers: texts });
    return decodeAnswer(bytes, "TXT")?.answers;
  };
  expect(answersWith(500, 500)).toHaveLength(2);
  expect(answersWith(500, 501)).toBeUndefined();
  expect(answersWith(60_000)).toBeUndefined();
});

test("does not decode many records with long names", () => {
  const answersWith = (records: number, labels: number) => {
    const name = "x.".repeat(labels);
    const soa = { mname: name, rname: name, serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 };
    const asked = { ...question, type: "SOA" } as const;
    const answers = Array.from({ length: records }, () => ({ ...asked, ttl: 60, data: soa }));
    return decodeAnswer(packet.encode({ type: "response", questions: [asked], answers }), "SOA")?.answers;
  };
  expect(answersWith(33, 60)).toHaveLength(33);
  expect(answersWith(34, 60)).toBeUndefined();
  expect(answersWith(mostRecords, 60)).toBeUndefined();
  expect(answersWith(mostRecords, 5)).toHaveLength(mostRecords);
});

test("does not decode answers with long chains of pointers", () => {
  for (const size of [1232, 4096, 65_507]) {
    expect(isDecoded((bytes) => decodeAnswer(bytes, "A"), expensiveMessage(size, "response"))).toBe(false);
  }
});
