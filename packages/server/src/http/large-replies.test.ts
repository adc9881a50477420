import { EventEmitter, once } from "node:events";
import type { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { expect, onTestFinished, test, vi } from "vitest";
import { TestClock } from "../testing/test-clock.ts";
import { sendBytes } from "./replies.ts";
import { UnsentBytes } from "./unsent-bytes.ts";

test("large content in memory has no time limit besides the one of all responses", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let sent: Readable | undefined;
  const reply = {
    raw: new EventEmitter(),
    request: { observed: true, ip: "192.0.2.1" },
    server: { unsent: new UnsentBytes(new TestClock()) },
    header: () => reply,
    send: (stream: Readable) => (sent = stream),
  };
  sendBytes(reply as unknown as FastifyReply, Buffer.alloc(1_000_000));
  const stream = sent ?? expect.fail("nothing was sent");
  onTestFinished(() => void stream.destroy());
  await once(stream, "readable");
  stream.read(1);
  vi.advanceTimersByTime(59_000);
  expect(stream.destroyed).toBe(false);
});
