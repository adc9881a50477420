import { randomUUID } from "node:crypto";
import { CompiledResource } from "@gatehouse/policy/model/compiled-resource";
import { CompiledUser } from "@gatehouse/policy/model/compiled-user";
import type { GroupFacts, ResourceFacts, UserFacts } from "@gatehouse/policy/model/facts";
import { finish } from "@gatehouse/policy/work";
import { expect, test } from "vitest";
import { deviceFormat, resourceFormat, userFormat } from "../packed/packed-facts.ts";
import { PackedPages, PackedRecords } from "../packed/packed-records.ts";
import { PageLists } from "../packed/page-lists.ts";
import { readSnapshotChunks, snapshotChunks } from "./model-snapshot.ts";

test("chunks stay small if records are large, and contain all records in order", async () => {
  const text = "x".repeat(1_500_000);
  const users: UserFacts[] = Array.from({ length: 7 }, (_, index) => ({
    id: randomUUID(),
    email: `user-${index}@example.com`,
    firstName: "",
    lastName: "",
    status: "active",
    attributes: { text },
    groups: [],
  }));
  const groups: GroupFacts[] = users.map(({ id }) => ({ id, name: text }));
  const format = userFormat();
  const rows = users.map((facts) => format.encode(new CompiledUser(facts), new PageLists()));
  const pages = new PackedPages();
  finish(pages.adding(Buffer.from(rows.join("\n")), rows.length));
  const others = { groups, gateways: [], rules: [], policies: [] };
  const facts = {
    users: finish(PackedRecords.indexing(pages, format)),
    devices: finish(PackedRecords.indexing(new PackedPages(), deviceFormat())),
    resources: finish(PackedRecords.indexing(new PackedPages(), resourceFormat())),
    others,
  };
  const state = { tenantId: randomUUID(), generation: 1, chainHash: "" };
  const chunks = [...snapshotChunks({ state, facts })].map(({ bytes }) => bytes);
  expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(5 * 1_048_576);

  async function* stored() {
    yield* chunks;
  }
  const read = await readSnapshotChunks(stored(), async (work) => finish(work));
  expect([...read.facts.users].map(([id, user]) => [id, user.facts.email])).toEqual(
    users.map(({ id, email }) => [id, email]),
  );
  expect(read.facts.others.groups.map(({ id }) => id)).toEqual(groups.map(({ id }) => id));
});

test("the resources of a snapshot have their ports", async () => {
  const portsOf = (first: number) =>
    Array.from({ length: 100 }, (_, index) => ({ protocol: "TCP" as const, port: String(first + index) }));
  const lists = Array.from({ length: 100 }, (_, index) => portsOf(1 + index * 100));
  const resources = Array.from({ length: 2_500 }, (_, index): ResourceFacts => {
    const protocols = index % 3 === 0 ? lists.slice(index % 100) : index % 3 === 1 ? portsOf(index) : [];
    const named = { id: randomUUID(), name: `Resource ${index}`, type: "PRIVATE" } as const;
    const addresses = [{ address: "10.0.0.1", answersWithin: null, protocols }];
    return { ...named, loadBalancingMode: "MANUAL", addresses, gateways: [] };
  });
  const pages = new PackedPages();
  finish(
    pages.encoding(
      resources.map((facts) => new CompiledResource(facts)),
      resourceFormat(),
    ),
  );
  const facts = {
    users: finish(PackedRecords.indexing(new PackedPages(), userFormat())),
    devices: finish(PackedRecords.indexing(new PackedPages(), deviceFormat())),
    resources: finish(PackedRecords.indexing(pages, resourceFormat())),
    others: { groups: [], gateways: [], rules: [], policies: [] },
  };
  const chunks = [...snapshotChunks({ state: { tenantId: randomUUID(), generation: 1, chainHash: "" }, facts })];
  async function* stored() {
    for (const { bytes } of chunks) yield bytes;
  }
  const read = await readSnapshotChunks(stored(), async (work) => finish(work));
  expect([...read.facts.resources].map(([, resource]) => resource.facts)).toEqual(resources);
});
