/** What is asked, as it stands in the address: each answer has a link that can be shared. */
import { useNavigate, useSearch } from "@tanstack/react-router";

export const views = [
  { value: "can", label: "Can they reach it?" },
  { value: "who", label: "Who can reach it?" },
  { value: "what", label: "What can they reach?" },
  { value: "graph", label: "Graph" },
] as const;
export type View = (typeof views)[number]["value"];

export const protocols = ["TCP", "UDP", "ICMP"] as const;

export interface AccessSearch {
  readonly view: View;
  readonly user: string;
  readonly device: string;
  /** Whether an address is asked for, rather than a resource. */
  readonly byAddress: boolean;
  readonly resource: string;
  /** An IP address or a host name. */
  readonly address: string;
  readonly protocol: (typeof protocols)[number] | undefined;
  readonly port: number | undefined;
  /** ISO 8601 with a zone; empty for now. */
  readonly at: string;
  /** Whether the network is meant as it was then, rather than as it is set up now. */
  readonly past: boolean;
  readonly ip: string;
  readonly country: string;
  /** From 1. */
  readonly page: number;
  /** Who is looked for by an address: users without a device, or devices. */
  readonly of: "users" | "devices";
  /** The token of a page that is found by an address; empty for the first. */
  readonly after: string;
}

type Search = Readonly<Record<string, string | undefined>>;

export function readAccessSearch(search: Search): AccessSearch {
  const [page, port] = [Number(search.page), Number(search.port)];
  return {
    view: views.find(({ value }) => value === search.view)?.value ?? "can",
    user: search.user ?? "",
    device: search.device ?? "",
    byAddress: search.to === "address",
    resource: search.resource ?? "",
    address: search.address ?? "",
    protocol: protocols.find((each) => each === search.protocol),
    port: Number.isInteger(port) && port >= 1 && port <= 65_535 ? port : undefined,
    at: search.at ?? "",
    past: search.past === "1",
    ip: search.ip ?? "",
    country: search.country ?? "",
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    of: search.of === "users" ? "users" : "devices",
    after: search.after ?? "",
  };
}

/** The destination, as the API's evaluation takes it. */
export function destinationOf({ byAddress, resource, address, protocol, port }: AccessSearch) {
  if (!byAddress) return { type: "resource", id: resource };
  const hasPorts = protocol === "TCP" || protocol === "UDP";
  const properties = {
    ...(protocol === undefined ? {} : { protocol }),
    ...(port === undefined || !hasPorts ? {} : { port }),
  };
  return { type: "address", id: address, ...(Object.keys(properties).length === 0 ? {} : { properties }) };
}

/** The circumstances, as the API's evaluation takes them. */
export function circumstancesOf({ at, ip, country }: AccessSearch) {
  return {
    ...(at === "" ? {} : { time: at }),
    ...(ip === "" ? {} : { sourceIp: ip }),
    ...(country.length === 2 ? { country } : {}),
  };
}

export function useAccessSearch() {
  const search = useSearch({ strict: false }) as Search; // the router reads every value as a text
  const navigate = useNavigate();
  const asked = readAccessSearch(search);
  /** @param isStep whether the browser's "back" is to lead to what was before */
  const change = (next: Search, isStep = false) =>
    void navigate({
      to: ".",
      search: { ...search, page: undefined, after: undefined, ...next },
      replace: !isStep,
      resetScroll: false,
    });
  return { asked, change };
}
