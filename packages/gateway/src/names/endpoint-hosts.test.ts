import type { Clock } from "@gatehouse/agent-core/clock";
import { HostResolver } from "@gatehouse/agent-core/dns/host-resolver";
import { describe, expect, test } from "vitest";
import { exampleConfiguration } from "../testing/example-configuration.ts";
import { EndpointFollower, EndpointHosts } from "./endpoint-hosts.ts";

const { content } = exampleConfiguration();
const relaying = (...hosts: readonly string[]) => ({
  ...content,
  settings: {
    ...content.settings,
    relay: hosts.map((host, index) => ({ listenPort: 51_901 + index, endpoint: `${host}:51820` })),
  },
});

/** A resolver with the answers of the test. */
class Names {
  readonly known = new Map<string, readonly string[]>();
  asked = 0;
  readonly lookUp = (host: string): Promise<readonly string[]> => {
    this.asked += 1;
    const found = this.known.get(host);
    return found === undefined ? Promise.reject(new Error("ENOTFOUND")) : Promise.resolve(found);
  };
}

/** Runs the pending timer when the test calls it. */
class HandClock implements Clock {
  waiting: { delayMs: number; work: () => void } | undefined;
  now = () => 0;
  elapsedMs = () => 0;
  after(delayMs: number, work: () => void): () => void {
    const entry = { delayMs, work };
    this.waiting = entry;
    return () => {
      if (this.waiting === entry) this.waiting = undefined;
    };
  }
}

describe("hosts of endpoints", () => {
  test("that are IP addresses are not queried", async () => {
    const names = new Names();
    const hosts = new EndpointHosts(new HostResolver(new HandClock(), names.lookUp));
    expect(await hosts.refresh(relaying("192.0.2.1", "[2001:db8::1]"))).toEqual({ isChanged: false, isComplete: true });
    expect(hosts.addressesOf("2001:db8::1")).toEqual({ 6: "2001:db8::1" });
    expect(names.asked).toBe(0);
  });

  test("keep their addresses while queries fail, and are forgotten with their configuration", async () => {
    const names = new Names();
    const hosts = new EndpointHosts(new HostResolver(new HandClock(), names.lookUp));
    const wanted = relaying("gateway.example.com");
    expect(await hosts.refresh(wanted)).toEqual({ isChanged: false, isComplete: false });
    names.known.set("gateway.example.com", ["192.0.2.1", "2001:db8::1"]);
    expect(await hosts.refresh(wanted)).toEqual({ isChanged: true, isComplete: true });
    expect(await hosts.refresh(wanted)).toEqual({ isChanged: false, isComplete: true });
    names.known.clear();
    expect(await hosts.refresh(wanted)).toEqual({ isChanged: false, isComplete: false });
    expect(hosts.addressesOf("gateway.example.com")).toEqual({ 4: "192.0.2.1", 6: "2001:db8::1" });
    await hosts.refresh(content);
    expect(hosts.addressesOf("gateway.example.com")).toEqual({});
  });

  test("are refreshed soon after a failure, otherwise each minute, and not after the end", async () => {
    const names = new Names();
    const hosts = new EndpointHosts(new HostResolver(new HandClock(), names.lookUp));
    const clock = new HandClock();
    const settled = () => new Promise((resolve) => setImmediate(resolve));
    let moves = 0;
    let isRefused = false;
    const moved = async () => {
      if (isRefused) throw new Error("the kernel refuses");
      moves += 1;
    };
    const follower = new EndpointFollower({ hosts, moved, clock, log: () => {} });
    follower.follow(relaying("gateway.example.com"));
    await settled();
    expect({ moves, delayMs: clock.waiting?.delayMs }).toEqual({ moves: 0, delayMs: 5_000 });
    names.known.set("gateway.example.com", ["192.0.2.1"]);
    clock.waiting?.work();
    await settled();
    expect({ moves, delayMs: clock.waiting?.delayMs }).toEqual({ moves: 1, delayMs: 60_000 });
    names.known.set("gateway.example.com", ["192.0.2.2"]);
    isRefused = true;
    clock.waiting?.work();
    await settled();
    expect({ moves, delayMs: clock.waiting?.delayMs }).toEqual({ moves: 1, delayMs: 5_000 });
    isRefused = false;
    clock.waiting?.work();
    await settled();
    expect({ moves, delayMs: clock.waiting?.delayMs }).toEqual({ moves: 2, delayMs: 60_000 });
    const { asked } = names;
    follower.follow({ ...relaying("gateway.example.com"), classes: {} });
    await settled();
    expect(names.asked).toBe(asked);
    follower.stop();
    expect(clock.waiting).toBeUndefined();
    follower.follow(content);
    await settled();
    expect(clock.waiting).toBeUndefined();
  });
});
