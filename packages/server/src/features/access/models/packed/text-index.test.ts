import { CompiledResource } from "@gatehouse/policy/model/compiled-resource";
import { finish } from "@gatehouse/policy/work";
import { expect, test } from "vitest";
import { resourceFormat } from "./packed-facts.ts";
import { PackedPages, PackedRecords } from "./packed-records.ts";
import { textHash } from "./text-hash.ts";
import { TextIndex } from "./text-index.ts";

/** Letters that differ only in their highest bit. Many hashes ignore it in the lower bits. */
const alike = ["\u4e00", "\uce00"] as const;
const positions = 11;
const names = Array.from({ length: 2 ** positions }, (_, index) =>
  Array.from({ length: positions }, (_unused, at) => alike[(index >> at) & 1 ? 1 : 0]).join(""),
);

test("chosen names cannot make a lookup long", () => {
  const pages = new PackedPages();
  const resources = names.map(
    (name, index) =>
      new CompiledResource({
        id: `01990000-0000-7000-8000-${String(index).padStart(12, "0")}`,
        name,
        type: "PRIVATE",
        loadBalancingMode: "MANUAL",
        addresses: [],
        gateways: [],
      }),
  );
  finish(pages.encoding(resources, resourceFormat()));
  const index = finish(TextIndex.indexing(finish(PackedRecords.indexing(pages, resourceFormat())), (text) => text));
  const longest = Math.max(...names.map((name) => [...index.candidates(name)].length));
  // A table that is half full has clusters of some tens of slots.
  expect(longest).toBeLessThan(256);
  expect([...index.candidates(names[5] ?? "")]).toContain("01990000-0000-7000-8000-000000000005");
});

test("a text, its prefixes, and long texts have different hashes", () => {
  const texts = Array.from({ length: 300 }, (_, length) => "\u0000".repeat(length));
  expect(new Set(texts.map(textHash)).size).toBe(texts.length);
});
