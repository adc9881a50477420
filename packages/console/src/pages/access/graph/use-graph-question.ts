/** What the graph shows, as it stands in the address. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { type Opened, readOpened, writeOpened } from "./graph-opened.ts";
import type { Policy, Shown } from "./graph-paths.ts";

export const accessTypes = [
  { value: "PRIVATE", label: "Private" },
  { value: "SAAS", label: "SaaS" },
  { value: "INTERNET", label: "Internet" },
  { value: "SITETOSITE", label: "Site to site" },
] as const satisfies readonly { readonly value: Policy["type"]; readonly label: string }[];

export const shownChoices = [
  { value: "all", label: "All" },
  { value: "allowed", label: "Allowed" },
  { value: "denied", label: "Denied" },
] as const satisfies readonly { readonly value: Shown; readonly label: string }[];

export interface GraphQuestion {
  readonly type: Policy["type"];
  readonly shown: Shown;
  /** The key of what it is narrowed to, such as `group:` and an id; empty for none. */
  readonly focus: string;
  readonly opened: Opened;
  /** Undefined: as the screen is wide enough for. */
  readonly form: "graph" | "list" | undefined;
  /** Of the list, from 1. */
  readonly page: number;
}

export interface GraphChange {
  readonly type?: string;
  readonly shown?: string;
  readonly focus?: string;
  readonly opened?: Opened;
  readonly form?: string;
  readonly page?: number;
}

type Search = Readonly<Record<string, string | undefined>>;

export function useGraphQuestion() {
  const search = useSearch({ strict: false }) as Search; // the router reads every value as a text
  const navigate = useNavigate();
  const { type, show, focus = "", open = "", form, page } = search;
  const question = useMemo((): GraphQuestion => {
    const number = Number(page);
    return {
      type: accessTypes.find(({ value }) => value === type)?.value ?? "PRIVATE",
      shown: shownChoices.find(({ value }) => value === show)?.value ?? "all",
      focus,
      opened: readOpened(open),
      form: form === "graph" || form === "list" ? form : undefined,
      page: Number.isSafeInteger(number) && number > 0 ? number : 1,
    };
  }, [type, show, focus, open, form, page]);
  const change = ({ opened, page: turnedTo, shown, ...next }: GraphChange) => {
    // What was open belongs to what was shown.
    const isOther = next.type !== undefined || next.focus !== undefined || shown !== undefined;
    void navigate({
      to: ".",
      search: {
        ...search,
        ...next,
        ...(next.type === undefined ? {} : { focus: undefined }),
        ...(shown === undefined ? {} : { show: shown === "all" ? undefined : shown }),
        open: opened !== undefined ? writeOpened(opened) : isOther ? undefined : search.open,
        page: turnedTo === undefined || turnedTo === 1 ? undefined : String(turnedTo),
      },
      resetScroll: false,
    });
  };
  return { question, change };
}
