/** The settings of the graph, stored in the URL. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { t } from "../../../messages/i18n.ts";
import { type Opened, readOpened, writeOpened } from "./graph-opened.ts";
import type { Policy, Shown } from "./graph-paths.ts";

export const accessTypes = [
  { value: "PRIVATE", label: t("policies.types.PRIVATE") },
  { value: "SAAS", label: t("policies.types.SAAS") },
  { value: "INTERNET", label: t("policies.types.INTERNET") },
  { value: "SITETOSITE", label: t("policies.types.SITETOSITE") },
] as const satisfies readonly { readonly value: Policy["type"]; readonly label: string }[];

export const shownChoices = [
  { value: "all", label: t("graph.shown.all") },
  { value: "allowed", label: t("graph.shown.allowed") },
  { value: "denied", label: t("graph.shown.denied") },
] as const satisfies readonly { readonly value: Shown; readonly label: string }[];

export interface GraphQuestion {
  readonly type: Policy["type"];
  readonly shown: Shown;
  /** The key of the filter, such as `group:01980000-…`. Empty for none. */
  readonly focus: string;
  readonly opened: Opened;
  /** Undefined to choose by the width of the screen. */
  readonly form: "graph" | "list" | undefined;
  /** The page of the list, from 1. */
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
  const search = useSearch({ strict: false }) as Search; // the router parses every value as a string
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
    // Expanded groups belong to the previous selection.
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
