import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { longestPart, type Part } from "../link/frames.ts";
import { HashTree, shareEntry } from "../link/hash-tree.ts";
import { PartsReader } from "../link/message-parts.ts";
import type { ConfigurationContent, Peer } from "./configuration.ts";
import { configurationFrames } from "./configuration-frames.ts";
import { contentRoot, contentTreeOf } from "./content-tree.ts";
import type { Whole } from "./frames.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const envelope = {
  header: {
    format: 1,
    tenant: "01980000-0000-7000-8000-000000000001",
    gateway: "01980000-0000-7000-8000-000000000002",
    generation: 7,
    issuedAt: 1000,
    expiresAt: 2000,
    root: sha256(""),
  },
  signature: "",
};
const addressOf = (index: number) => `100.${64 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;

function content(devices: number, answers: readonly string[]): ConfigurationContent {
  const keys = Array.from({ length: devices }, (_, index) => addressOf(index));
  const peer: Peer = { kind: "device", publicKey: '\u{1f600}\\"A=', ipv6: "fd00::1" };
  return {
    settings: {
      interface: { listenPort: 51820, ipv4: "100.127.255.254", ipv6: "fd00::1", pools: ["100.64.0.0/10"] },
      dns: { resolvers: [], domains: [] },
    },
    peers: Object.fromEntries(keys.map((key) => [key, { ...peer }])),
    classes:
      devices === 0 ? {} : { "group/a": Object.fromEntries(keys.map((key) => [key, true])), "group/b": { a: [] } },
    resources: devices === 0 ? {} : { "01980000-0000-7000-8005-000000000001": { devices: [], sites: [] } },
    destinations: { "db.example.com": { services: [], otherwise: "drop", answers } },
  };
}

test.each([
  ["without entries", 0, [], 1],
  ["short", 3, ["10.0.0.0/8"], 1],
  ["with many entries", 5_000, [], 3],
  ["with an entry that is longer than a part", 1, ["x".repeat(2 * longestPart)], 4],
])("the frames of a configuration %s contain the envelope and the content", (_, devices, answers, most) => {
  const tree = contentTreeOf(content(devices, answers));
  const root = contentRoot(contentTreeOf(content(devices, answers)), sha256);
  for (const [key, peer] of tree.peers.entries()) shareEntry(key, peer);
  // The second time, the texts are known.
  for (let round = 0; round < 2; round += 1) {
    const frames = [...configurationFrames({ type: "whole", envelope, content: tree })];
    expect(frames.length).toBeLessThanOrEqual(most);
    const message = received(frames);
    expect(message?.envelope).toEqual(envelope);
    expect(contentRoot(contentTreeOf(message?.content ?? content(0, [])), sha256)).toBe(root);
  }
  expect(contentRoot(tree, sha256)).toBe(root);
});

test("a shared entry has its own hash and text under each key", () => {
  const value = { a: 1 };
  shareEntry("one", value);
  const tree = (key: string, shared: { readonly a: number }) => HashTree.of([[key, shared]]);
  tree("one", value).root(sha256);
  for (const key of ["one", "two"]) {
    expect(tree(key, value).root(sha256)).toBe(tree(key, { a: 1 }).root(sha256));
    expect(Array.from(tree(key, value).texts(), ({ text }) => text)).toEqual([`,"${key}":{"a":1}`]);
  }
});

/** The message that an agent reads from frames. */
function received(frames: readonly string[]): Whole | undefined {
  const reader = new PartsReader();
  let message: Whole | undefined;
  for (const frame of frames) {
    const parsed: Part | Whole = JSON.parse(frame);
    if (parsed.type === "whole") return parsed;
    expect(parsed.text.length).toBeLessThanOrEqual(longestPart);
    const read = reader.read(parsed);
    if (typeof read === "object") message = JSON.parse(read.text);
    else expect(read).toBeUndefined();
  }
  return message;
}
