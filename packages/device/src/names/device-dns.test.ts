import type { DnsMessage } from "@gatehouse/agent-core/dns/dns-message";
import { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import { expensiveMessage } from "@gatehouse/agent-core/testing/expensive-message";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import packet from "dns-packet";
import { describe, expect, test, vi } from "vitest";
import { exampleDeviceConfiguration, exampleOutage } from "../testing/example-device-configuration.ts";
import { DeviceDns } from "./device-dns.ts";

const example = exampleDeviceConfiguration();

interface World {
  readonly answers?: readonly object[];
  readonly rcode?: string;
  readonly isSilent?: boolean;
  readonly failsToForward?: boolean;
  readonly refuses?: boolean;
  readonly outside?: readonly string[];
  readonly hasNone?: boolean;
  readonly closed?: string;
}

/**
 * Gateways that say these records to every question, and the machine's own resolvers, which say nothing but that they
 * were asked.
 */
function dnsWith(world: World) {
  const { answers = [], rcode = "NOERROR", isSilent, refuses, outside = [], hasNone, failsToForward, closed } = world;
  const events: string[] = [];
  let configuration = example;
  const names = new ResolvedNames();
  const clock = new StoppedClock();
  const dns = new DeviceDns({
    configuration: () => (hasNone === true ? undefined : configuration),
    bypassHosts: () => new Set(outside),
    isClosed: (address) => address === closed,
    names,
    namesChanged: () => {
      events.push("tunnel");
      return refuses === true ? Promise.reject(new Error("the kernel refuses")) : Promise.resolve();
    },
    askGateway: ({ name, type }, [gateway]) => {
      events.push(`${gateway} ${type} ${name}`);
      if (isSilent === true) return Promise.resolve(undefined);
      // The types require fields that the encoder fills in.
      const bytes = packet.encode({
        type: "response",
        questions: [{ name, type } as never],
        answers: answers as never,
      });
      return Promise.resolve({ ...packet.decode(bytes), rcode, opcode: "QUERY" } as DnsMessage);
    },
    forward: (question, over, resolvers) => {
      events.push(`passed on over ${over} to ${resolvers.join(" ")}`);
      if (failsToForward === true) return Promise.reject(new Error("the network is unreachable"));
      return Promise.resolve(isSilent === true ? undefined : Buffer.from(question));
    },
    machineResolvers: () => Promise.resolve(["192.0.2.53"]),
    clock,
    log: () => {},
  });
  const question = (name: string, type: string) =>
    packet.encode({ type: "query", id: 7, questions: [{ name, type: type as "A" }] });
  const ask = async (name: string, type = "A") => {
    const bytes = await dns.answer(question(name, type), "udp");
    const answer = bytes === undefined ? undefined : (packet.decode(bytes) as DnsMessage);
    return { id: answer?.id, rcode: answer?.rcode, answers: answer?.answers ?? [] };
  };
  const named = () => names.named({ destinations: { "git.internal.example.com": 1, "*.internal.example.com": 2 } });
  const use = (next: typeof example) => {
    configuration = next;
  };
  return { dns, ask, events, named, question, clock, use };
}

const record = { type: "A", name: "git.internal.example.com", ttl: 60, data: "10.90.0.7" };
const update = packet.encode({
  type: "query",
  id: 7,
  flags: 5 << 11,
  questions: [{ name: "example.org", type: "SOA" }],
  authorities: [{ ...record, type: "A" }],
});

describe("DNS on a device", () => {
  test("resolves a name at its gateway, and routes the addresses through the tunnel before responding", async () => {
    const { ask, events, named } = dnsWith({ answers: [record] });
    expect(await ask("Git.Internal.example.com")).toMatchObject({
      id: 7,
      rcode: "NOERROR",
      answers: [{ data: "10.90.0.7" }],
    });
    expect(events).toEqual(["100.64.255.1 A git.internal.example.com", "tunnel"]);
    expect(named()).toEqual(new Map([["10.90.0.7", ["git.internal.example.com"]]]));
  });

  test("uses the longest wildcard's gateway if the name itself is not listed", async () => {
    const { ask, events } = dnsWith({ answers: [{ ...record, name: "wiki.internal.example.com" }] });
    await ask("wiki.internal.example.com");
    expect(events[0]).toBe("100.64.255.2 A wiki.internal.example.com");
  });

  test("forwards all other names unchanged, and returns the response", async () => {
    const { dns, question, events } = dnsWith({});
    for (const name of ["example.org", "internal.example.com", "a.internal.example.com.example.org"]) {
      const asked = question(name, "HTTPS");
      expect(await dns.answer(asked, "tcp")).toEqual(asked);
    }
    expect(new Set(events)).toEqual(new Set(["passed on over tcp to 192.0.2.53"]));
  });

  test("forwards everything while no configuration is in use", async () => {
    const { ask, events } = dnsWith({ hasNone: true });
    await ask("git.internal.example.com");
    expect(events).toEqual(["passed on over udp to 192.0.2.53"]);
  });

  test("never resolves names through the tunnel that the tunnel depends on", async () => {
    const { ask, events } = dnsWith({ outside: ["gateway-2.internal.example.com"] });
    await ask("gateway-2.internal.example.com");
    expect(events).toEqual(["passed on over udp to 192.0.2.53"]);
  });

  test("does not answer with an address that the tunnel refused", async () => {
    const { ask } = dnsWith({ answers: [record], refuses: true });
    expect(await ask("git.internal.example.com")).toMatchObject({ rcode: "SERVFAIL", answers: [] });
  });

  test("reports a failure for an answer with too large records, and does not use its addresses", async () => {
    const alias = { type: "CNAME", name: record.name, ttl: 60, data: record.name };
    const answers = [record, ...Array.from({ length: 255 }, () => ({ ...alias, data: "x.".repeat(60) }))];
    const { ask, events, named } = dnsWith({ answers });
    expect(await ask(record.name)).toMatchObject({ rcode: "SERVFAIL", answers: [] });
    expect(events).not.toContain("tunnel");
    expect(named().size).toBe(0);
  });

  test("leaves the address of the network's router out of answers, and never routes it", async () => {
    const { dns, ask, named, clock } = dnsWith({
      answers: [record, { ...record, data: "192.168.1.1" }],
      closed: "192.168.1.1",
    });
    expect((await ask(record.name)).answers).toMatchObject([{ data: "10.90.0.7" }]);
    clock.pass(60_000);
    await dns.refresh();
    expect([...named().keys()]).toEqual(["10.90.0.7"]);
  });

  test.each([
    [{ isSilent: true }, "SERVFAIL"],
    [{ rcode: "NXDOMAIN" }, "NXDOMAIN"],
    [{ rcode: "NOERROR" }, "NOERROR"],
  ])("a gateway that says %j makes it %s", async (world, rcode) => {
    expect(await dnsWith(world).ask("git.internal.example.com")).toMatchObject({ rcode, answers: [] });
  });

  test("answers unserved names itself, without an address, so that programs ask nobody else", async () => {
    const { dns, ask, events, use } = dnsWith({ answers: [record] });
    use(exampleOutage());
    for (const type of ["A", "AAAA", "TXT", "HTTPS"]) {
      expect(await ask(record.name, type)).toMatchObject({ rcode: "NOERROR", answers: [] });
    }
    expect(await dns.resolve(record.name)).toEqual({ rcode: "NOERROR", addresses: [] });
    expect(events).toEqual([]);
    await ask("wiki.internal.example.com");
    expect(events[0]).toBe("100.64.255.2 A wiki.internal.example.com");
  });

  test("retains the addresses of a name while it is unserved, and asks no gateway about it", async () => {
    const { dns, ask, named, clock, events, use } = dnsWith({ answers: [record] });
    await ask(record.name);
    use(exampleOutage());
    clock.pass(23 * 3_600_000);
    await dns.refresh();
    expect(named()).toEqual(new Map([["10.90.0.7", [record.name]]]));
    expect(events.filter((event) => event.includes("100.64.255"))).toHaveLength(1);
    use(example);
    clock.pass(15_000);
    await dns.refresh();
    expect(events.filter((event) => event.includes("100.64.255.1"))).toHaveLength(3);
    expect(named().size).toBe(1);
  });

  test("reports that no resolver of the machine responds", async () => {
    expect(await dnsWith({ isSilent: true }).ask("example.org")).toMatchObject({ id: 7, rcode: "SERVFAIL" });
  });

  test("returns no records for types that could contain other addresses, and learns only from addresses", async () => {
    const { ask, events, named } = dnsWith({ answers: [record] });
    expect(await ask("git.internal.example.com", "HTTPS")).toMatchObject({ rcode: "NOERROR", answers: [] });
    await ask("git.internal.example.com", "TXT");
    expect(events).toEqual(["100.64.255.1 TXT git.internal.example.com"]);
    expect(named().size).toBe(0);
  });

  test("keeps addresses 10 minutes after they expire, and as long as the name is queried and has them", async () => {
    const { dns, ask, named, clock, events } = dnsWith({ answers: [record] });
    await ask("git.internal.example.com");
    clock.pass(9 * 60_000);
    await dns.refresh();
    expect(events.filter((event) => event.startsWith("100.64.255.1"))).toHaveLength(3);
    clock.pass(9 * 60_000);
    expect(named().size).toBe(1);
  });

  test("forgets addresses by the time that has passed, not by the wall clock", async () => {
    const { dns, ask, named, clock, events } = dnsWith({ answers: [record] });
    await ask("git.internal.example.com");
    clock.setMs = -5 * 3_600_000;
    clock.pass(60_000);
    await dns.refresh();
    expect(events.filter((event) => event.startsWith("100.64.255.1"))).toHaveLength(3);
    clock.setMs = 0;
    await dns.refresh();
    expect(named().size).toBe(1);
    expect(events.filter((event) => event.startsWith("100.64.255.1"))).toHaveLength(3);
  });

  test("ignores messages that are not questions", async () => {
    const { dns } = dnsWith({});
    expect(await dns.answer(Buffer.from("no DNS"), "udp")).toBeUndefined();
    const response = packet.encode({ type: "response", questions: [{ name: "example.org", type: "A" }] });
    expect(await dns.answer(response, "udp")).toBeUndefined();
  });

  test("does not decode expensive messages, and forwards updates unchanged", async () => {
    const { dns, events } = dnsWith({});
    const decode = vi.spyOn(packet, "decode");
    expect((await dns.answer(expensiveMessage(1232, "query"), "udp"))?.toString("hex")).toBe(
      "000080810000000000000000",
    );
    expect(await dns.answer(update, "tcp")).toEqual(update);
    expect(decode).not.toHaveBeenCalled();
    decode.mockRestore();
    expect(events).toEqual(["passed on over tcp to 192.0.2.53"]);
  });

  test.each<World>([{ isSilent: true }, { failsToForward: true }])(
    "reports that an update could not be forwarded: %j",
    async (world) => {
      const reply = await dnsWith(world).dns.answer(update, "udp");
      expect(packet.decode(reply as Buffer)).toMatchObject({ id: 7, opcode: "UPDATE", rcode: "SERVFAIL" });
    },
  );

  test("reports that it does not understand a query without a single question", async () => {
    const { dns, events } = dnsWith({});
    const reply = await dns.answer(packet.encode({ type: "query", id: 7 }), "udp");
    expect(packet.decode(reply as Buffer)).toMatchObject({ id: 7, type: "response", rcode: "FORMERR" });
    expect(events).toEqual([]);
  });
});
