import { agentFrames } from "@gatehouse/agent-protocol/gateway/frames";
import { framesOf } from "@gatehouse/agent-protocol/link/message-parts";
import { expect, test } from "vitest";
import { FrameReader, frameChecks } from "./frame-reader.ts";

const checks = frameChecks(agentFrames);

test.each([
  ["objects", `{"type":"heartbeat","peers":[${"{},".repeat(300_000)}1]}`],
  ["arrays", "[".repeat(900_000)],
])("a message of many %s ends the connection before it is parsed", (_what, text) => {
  expect(new FrameReader(checks).read(text)).toEqual({ kind: "fault", fault: "a frame has too many values" });
  const reader = new FrameReader(checks);
  const parts = text.match(/.{1,60000}/g) ?? [];
  const replies = parts.map((part, index) =>
    reader.read(JSON.stringify({ type: "part", index, isLast: index === parts.length - 1, text: part })),
  );
  expect(replies.at(-1)).toEqual({ kind: "fault", fault: "a frame has too many values" });
});

test("the longest heartbeat is read", () => {
  const peers = Array.from({ length: 1_000 }, (_none, index) => ({
    peer: `100.64.${index >> 8}.${index & 255}`,
    lastHandshake: Date.UTC(2026, 10, 26),
    address: "2001:db8:1234:5678:1234:5678:1234:5678",
    receivedBytes: Number.MAX_SAFE_INTEGER,
    sentBytes: Number.MAX_SAFE_INTEGER,
  }));
  const reader = new FrameReader(checks);
  const replies = [...framesOf({ type: "heartbeat", sequence: 1, load: 0.5, roundTripTimeMs: 1, peers })].map((frame) =>
    reader.read(frame),
  );
  expect(replies.at(-1)).toMatchObject({ kind: "message", message: { type: "heartbeat", peers } });
});
