/** The content for agents of earlier versions of the subprotocol, which know fewer fields: SPEC.md, "Versions". */
import type { LinkVersion } from "../link/greeting.ts";
import type { Destination, Peer, Settings } from "./configuration.ts";
import type { ContentTree } from "./content-tree.ts";

type EarlierVersion = 1 | 2;

const adapted = { 1: new WeakMap<ContentTree, ContentTree>(), 2: new WeakMap<ContentTree, ContentTree>() };

/**
 * Returns content that agents of a version accept. A field that limits access must not be omitted: a name with
 * `answers` that the agent does not know is closed, and a device with `until` is not a peer in version 1. The exception
 * is `networks`, a default of names that older agents have always opened.
 */
export function contentForVersion(content: ContentTree, version: LinkVersion): ContentTree {
  if (version !== 1 && version !== 2) return content;
  const known = adapted[version].get(content);
  if (known !== undefined) return known;
  const destinations = changedDestinations(content, version);
  const limited = version === 1 ? limitedDevices(content) : [];
  const { networks, ...dns } = content.settings.dns;
  const settings: Settings = networks === undefined ? content.settings : { ...content.settings, dns };
  const isSame = settings === content.settings && destinations.length + limited.length === 0;
  const result = isSame
    ? content
    : {
        ...content,
        settings,
        destinations: content.destinations.with(destinations),
        peers: content.peers.with(limited),
      };
  adapted[version].set(content, result);
  return result;
}

function changedDestinations(content: ContentTree, version: EarlierVersion): [string, Destination][] {
  const changed: [string, Destination][] = [];
  for (const [key, { answers, ...rest }] of content.destinations.entries()) {
    if (answers === "networks") changed.push([key, rest]);
    else if (Array.isArray(answers) || (answers === "global" && version === 1)) {
      changed.push([key, { services: [], otherwise: "drop" }]);
    }
  }
  return changed;
}

function limitedDevices(content: ContentTree): [string, Peer | undefined][] {
  const limited: [string, Peer | undefined][] = [];
  for (const [key, peer] of content.peers.entries()) {
    if (peer.kind === "device" && peer.until !== undefined) limited.push([key, undefined]);
  }
  return limited;
}
