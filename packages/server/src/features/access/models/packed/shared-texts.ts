/** Facts that share the memory of equal texts. */
import type { TenantFacts } from "@gatehouse/policy/model/facts";
import { entriesAtOnce, entryCost, type Work } from "@gatehouse/policy/work";

/** The most texts that are remembered. Fields that are shared have few different values, apart from ids. */
const maxTexts = 250_000;

/**
 * Replaces texts that many records contain by one copy of each. The database driver creates a new text for each value
 * of each row: the id of a group once for each member, and the name of an operating system once for each device. Facts
 * remain equal to what they were.
 *
 * @param facts just read, and not used by anything else
 * @param texts the texts of facts that were read before
 */
export function* sharingTexts(facts: TenantFacts, texts = new SharedTexts()): Work<void> {
  for (const user of yieldingFrom(facts.users)) {
    if (typeof user === "number") {
      yield user;
      continue;
    }
    texts.of(user.id);
    texts.shareFields(user, ["firstName", "lastName", "status"]);
    yield* texts.sharingItems(user.groups);
  }
  for (const device of yieldingFrom(facts.devices)) {
    if (typeof device === "number") yield device;
    else texts.shareFields(device, ["userId", "os", "osVersion", "appVersion"]);
  }
  for (const policy of yieldingFrom(facts.policies)) {
    if (typeof policy === "number") {
      yield policy;
      continue;
    }
    texts.shareFields(policy, ["type", "mode", "rule"]);
    const { groups, users, devices, resources, gateways } = policy;
    for (const list of [groups, users, devices, resources, gateways]) yield* texts.sharingItems(list);
  }
}

/** The texts that facts have in common. */
export class SharedTexts {
  readonly #known = new Map<string, string>();

  /** The copy of a text that all records share. */
  of(text: string): string {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    if (this.#known.size < maxTexts) this.#known.set(text, text);
    return text;
  }

  shareFields<Name extends string>(record: Readonly<Record<Name, unknown>>, names: readonly Name[]): void {
    const fields = record as Record<Name, unknown>; // the caller owns the record
    for (const name of names) {
      const value = fields[name];
      if (typeof value === "string") fields[name] = this.of(value);
    }
  }

  /** A policy can name any number of users, so this yields too. */
  *sharingItems(list: readonly string[]): Work<void> {
    const items = list as string[]; // the caller owns the list
    for (const [index, item] of list.entries()) {
      items[index] = this.of(item);
      if (index % entriesAtOnce === entriesAtOnce - 1) yield entriesAtOnce * entryCost;
    }
  }
}

/** Lists that are parsed from texts. Records with equal short texts share a list. */
export class SharedLists<Item> {
  readonly #known = new Map<string, readonly Item[]>();
  readonly #parse: (text: string) => readonly Item[];

  /** @param parse receives no empty text */
  constructor(parse: (text: string) => readonly Item[]) {
    this.#parse = parse;
  }

  of(text: string): readonly Item[] {
    if (text === "") return [];
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const list = this.#parse(text);
    if (this.#known.size < maxLists && text.length <= longestSharedText) this.#known.set(text, list);
    return list;
  }
}

const maxLists = 2_000;
const longestSharedText = 500;

/** The records, and the cost of some of them from time to time. */
function* yieldingFrom<Item extends object>(items: readonly Item[]): Iterable<Item | number> {
  for (const [index, item] of items.entries()) {
    yield item;
    if (index % recordsAtOnce === recordsAtOnce - 1) yield recordsAtOnce * sharedCost;
  }
}

const recordsAtOnce = entriesAtOnce / 10;
/** A record has about ten shared texts. */
const sharedCost = 10 * entryCost;
