import { EventEmitter } from "node:events";
import { constants, type ServerHttp2Session } from "node:http2";
import { expect, test } from "vitest";
import { TestClock } from "../testing/test-clock.ts";
import { ResetLimit } from "./reset-limit.ts";

/** The parts of a session that the limit reads. */
class FakeSession extends EventEmitter {
  destroyed = false;
  readonly socket: { readonly remoteAddress: string };

  constructor(remoteAddress: string) {
    super();
    this.socket = { remoteAddress };
  }

  destroy(): void {
    this.destroyed = true;
  }

  reset(count: number, rstCode: number = constants.NGHTTP2_CANCEL): void {
    for (let index = 0; index < count; index += 1) this.#end({ rstCode, aborted: true });
  }

  answer(count: number): void {
    for (let index = 0; index < count; index += 1) this.#end({ rstCode: constants.NGHTTP2_NO_ERROR, aborted: false });
  }

  #end(state: object): void {
    const stream = Object.assign(new EventEmitter(), { destroyed: false }, state);
    this.emit("stream", stream);
    stream.emit("close");
  }
}

const client = "192.0.2.1";

function start(trustedProxies: readonly string[] = []) {
  const clock = new TestClock();
  const limit = new ResetLimit({ clock, trustedProxies });
  const connect = (address = client) => {
    const session = new FakeSession(address);
    limit.watch(session as unknown as ServerHttp2Session);
    return session;
  };
  return { clock, limit, connect };
}

test.each([
  ["with an error", constants.NGHTTP2_CANCEL],
  ["with the code of a regular end", constants.NGHTTP2_NO_ERROR],
])("a connection that resets many streams %s is destroyed", (_, code) => {
  const { limit, connect } = start();
  const session = connect();
  session.answer(1_000);
  session.reset(200, code);
  expect([session.destroyed, limit.allowsHttp2(client)]).toEqual([false, true]);
  session.reset(1, code);
  expect([session.destroyed, limit.allowsHttp2(client), limit.allowsHttp2("192.0.2.2")]).toEqual([true, false, true]);
});

test("resets count for ten seconds", () => {
  const { clock, connect } = start();
  const session = connect();
  session.reset(200);
  clock.advance(10_000);
  session.reset(200);
  expect(session.destroyed).toBe(false);
});

test("connections with few resets each count together for their address", () => {
  const { clock, limit, connect } = start();
  for (let index = 0; index < 10; index += 1) connect().reset(100);
  expect(limit.allowsHttp2(client)).toBe(true);
  const last = connect();
  last.reset(1);
  expect([last.destroyed, limit.allowsHttp2(client)]).toEqual([true, false]);
  clock.advance(60_000);
  expect(limit.allowsHttp2(client)).toBe(true);
});

test("a trusted proxy is not limited, in either form of its address", () => {
  const { limit, connect } = start(["192.0.2.0/24"]);
  for (const address of [client, `::ffff:${client}`]) {
    const session = connect(address);
    session.reset(5_000);
    expect([session.destroyed, limit.allowsHttp2(address)]).toEqual([false, true]);
  }
});
