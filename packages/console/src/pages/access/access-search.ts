/** The query of the access page, stored in the URL so that every answer has a link. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { t } from "../../messages/i18n.ts";

export const views = [
  { value: "can", label: t("access.views.can") },
  { value: "who", label: t("access.views.who") },
  { value: "what", label: t("access.views.what") },
  { value: "graph", label: t("access.views.graph") },
] as const;
export type View = (typeof views)[number]["value"];

export const protocols = ["TCP", "UDP", "ICMP"] as const;

export interface AccessSearch {
  readonly view: View;
  readonly user: string;
  readonly device: string;
  /** Whether the destination is an address instead of a resource. */
  readonly byAddress: boolean;
  readonly resource: string;
  /** An IP address or a host name. */
  readonly address: string;
  readonly protocol: (typeof protocols)[number] | undefined;
  readonly port: number | undefined;
  /** ISO 8601 with a zone; empty for now. */
  readonly at: string;
  /** Whether to evaluate the current configuration at a past time, instead of the configuration of that time. */
  readonly isCurrent: boolean;
  readonly ip: string;
  readonly country: string;
  /** From 1. */
  readonly page: number;
  /** The subjects to search for by address: users without a device, or devices. */
  readonly of: "users" | "devices";
  /** The page token of a search by address. Empty for the first page. */
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
    at: Number.isNaN(Date.parse(search.at ?? "")) ? "" : (search.at ?? ""),
    isCurrent: search.config === "current",
    ip: search.ip ?? "",
    country: search.country ?? "",
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    of: search.of === "users" ? "users" : "devices",
    after: search.after ?? "",
  };
}

/** Letters, digits, hyphens and underscores of a host name, or the digits of an IP address. */
const host = /^(?!.*\.\.)[\p{L}\p{N}_-][\p{L}\p{N}_.-]*$/u;
const ipv6 = /^(?=.*:.*:)[0-9a-f:.]+$/i;

/** Whether a text can be a host name or an IP address. The server checks the details. */
export function isSingleHost(text: string): boolean {
  return host.test(text) || ipv6.test(text);
}

/** The destination in the form of the evaluation API. */
export function destinationOf({ byAddress, resource, address, protocol, port }: AccessSearch) {
  if (!byAddress) return { type: "resource", id: resource };
  const hasPorts = protocol === "TCP" || protocol === "UDP";
  const properties = {
    ...(protocol === undefined ? {} : { protocol }),
    ...(port === undefined || !hasPorts ? {} : { port }),
  };
  return { type: "address", id: address, ...(Object.keys(properties).length === 0 ? {} : { properties }) };
}

/** Whether the time of the question has passed. */
export function isInPast({ at }: Pick<AccessSearch, "at">): boolean {
  return at !== "" && Date.parse(at) <= Date.now();
}

/** Whether a past time can be asked about with the current configuration. Lists show the access of that time. */
export function offersCurrent({ view, byAddress, at }: AccessSearch): boolean {
  return view === "can" && !byAddress && isInPast({ at });
}

/** Whether the API can answer only with the current configuration: for addresses. */
export function hasOnlyCurrent({ view, byAddress }: AccessSearch): boolean {
  return byAddress && view !== "what";
}

/** Whether the answer is a decision of the current configuration, and no list of access. */
export function isDecision(query: AccessSearch): boolean {
  const { view, byAddress, isCurrent } = query;
  return view === "can" && (byAddress || isCurrent || !isInPast(query));
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
  const search = useSearch({ strict: false }) as Search; // the router parses every value as a string
  const navigate = useNavigate();
  const query = readAccessSearch(search);
  /** @param isStep whether to add an entry to the browser history */
  const change = (next: Search, isStep = false) =>
    void navigate({
      to: ".",
      search: { ...search, page: undefined, after: undefined, ...next },
      replace: !isStep,
      resetScroll: false,
    });
  return { query, change };
}
