/** What is asked, as it stands in the address: each answer has a link that can be shared. */
import { useNavigate, useSearch } from "@tanstack/react-router";

export const views = [
  { value: "can", label: "Can they reach it?" },
  { value: "who", label: "Who can reach it?" },
  { value: "what", label: "What can they reach?" },
  { value: "graph", label: "Graph" },
] as const;
export type View = (typeof views)[number]["value"];

export interface AccessSearch {
  readonly view: View;
  readonly user: string;
  readonly device: string;
  readonly resource: string;
  /** ISO 8601 with a zone; empty for now. */
  readonly at: string;
  /** Whether the network is meant as it was then, rather than as it is set up now. */
  readonly past: boolean;
  readonly ip: string;
  readonly country: string;
  readonly page: number;
}

type Search = Readonly<Record<string, string | undefined>>;

export function useAccessSearch() {
  const search = useSearch({ strict: false }) as Search; // the router reads every value as a text
  const navigate = useNavigate();
  const page = Number(search.page);
  const asked: AccessSearch = {
    view: views.find(({ value }) => value === search.view)?.value ?? "can",
    user: search.user ?? "",
    device: search.device ?? "",
    resource: search.resource ?? "",
    at: search.at ?? "",
    past: search.past === "1",
    ip: search.ip ?? "",
    country: search.country ?? "",
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  };
  const change = (next: Search) =>
    void navigate({ to: ".", search: { ...search, page: undefined, ...next }, replace: true, resetScroll: false });
  return { asked, change };
}
