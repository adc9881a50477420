/**
 * The command palette (Ctrl K or ⌘ K): pages, "create" actions, records by name, actions on records, tasks and guides.
 */
import "@mantine/spotlight/styles.css";
import { useDebouncedValue } from "@mantine/hooks";
import { createSpotlight, Spotlight, type SpotlightActionGroupData } from "@mantine/spotlight";
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Plus, Search } from "lucide-react";
import { useEffect, useState } from "react";
import { t } from "../messages/i18n.ts";
import { inParts, mostInPart, paged, whole } from "./api.ts";
import { containsPattern } from "./like-pattern.ts";
import type { PageSet, PageTask } from "./page-set.ts";
import { usePageSets } from "./page-sets.ts";
import { paletteShortcut } from "./palette-shortcut.ts";
import { useSession } from "./session.ts";

export const [paletteStore, palette] = createSpotlight();

interface Found {
  readonly id: string;
  readonly label: string;
  readonly path: string;
  readonly kind: string;
}

/** The name of one record of each page. */
const kinds: Readonly<Record<string, string>> = {
  "access-tests": t("app.palette.kinds.accessTest"),
  addresses: t("app.palette.kinds.address"),
  "admission-rules": t("app.palette.kinds.admissionRule"),
  "api-keys": t("app.palette.kinds.apiKey"),
  devices: t("app.palette.kinds.device"),
  "enrolment-keys": t("app.palette.kinds.enrolmentKey"),
  gateways: t("app.palette.kinds.gateway"),
  groups: t("app.palette.kinds.group"),
  "identity-providers": t("app.palette.kinds.identityProvider"),
  policies: t("app.palette.kinds.policy"),
  protocols: t("app.palette.kinds.protocol"),
  resources: t("app.palette.kinds.resource"),
  users: t("app.palette.kinds.user"),
  webhooks: t("app.palette.kinds.webhook"),
};

type Action = NonNullable<PageSet["actions"]>[number];

/** An action on a found record, such as "Deactivate ann@example.com". */
interface FoundAction extends Found {
  readonly parameter: string;
}

export function Palette() {
  const [typed, setTyped] = useState("");
  const [search] = useDebouncedValue(typed.trim(), 200);
  const { permissions } = useSession();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const readable = usePageSets().filter(
    ({ permission }) => permission === undefined || permissions.includes(permission),
  );
  const sets = readable.filter(({ isHidden }) => isHidden !== true);
  const isPermitted = ({ permission }: PageTask) =>
    permission === "*:write" ? permissions.some((held) => held.endsWith(":write")) : permissions.includes(permission);
  const { data: found = [] } = useQuery({
    queryKey: ["palette", search],
    enabled: search.length >= 2,
    queryFn: async ({ signal }) =>
      (await Promise.all(sets.map((set) => findRecords(set, search, queryClient, signal)))).flat() as readonly Found[],
  });
  const { data: actions = [] } = useQuery({
    queryKey: ["palette", "actions", search],
    enabled: search.includes(" "),
    queryFn: ({ signal }) =>
      findActions(sets, search, (action) => permissions.includes(action.permission), queryClient, signal),
  });
  useEffect(() => {
    if (found.length + actions.length > 0) selectFirst();
  }, [found, actions]);
  /** The icon of the pages of a record. */
  const iconOf = (path: string) => {
    const Icon = readable.find((set) => set.path === path)?.icon;
    return Icon === undefined ? {} : { leftSection: <Icon size={18} aria-hidden /> };
  };
  /** Too many to list without a search. */
  const onlyFound: SpotlightActionGroupData[] = [
    {
      group: t("app.palette.tasks.title"),
      actions: sets.flatMap(({ path, title: page, tasks = [] }) =>
        tasks.filter(isPermitted).map(({ title, keywords = "" }) => ({
          id: `${path} ${title}`,
          label: title,
          ...iconOf(path),
          description: t("app.palette.taskAt", { page }),
          keywords,
          onClick: () => void navigate({ to: `/${path}` }),
        })),
      ),
    },
    {
      group: t("guides.title"),
      actions: readable.flatMap(({ path, entries }) =>
        (entries?.pages ?? []).map(({ id, title }) => ({
          id: `${path}/${id}`,
          label: title,
          ...iconOf(path),
          description: entries?.kind ?? "",
          onClick: () => void navigate({ to: `/${path}/${id}` }),
        })),
      ),
    },
  ];
  const groups: SpotlightActionGroupData[] = [
    {
      group: t("app.palette.records"),
      actions: found.map(({ id, label, path, kind }) => ({
        id,
        label,
        ...iconOf(path),
        description: kind,
        keywords: search,
        onClick: () => void navigate({ to: `/${path}/${id}` }),
      })),
    },
    {
      group: t("app.palette.actions"),
      actions: actions.map(({ id, label, path, kind, parameter }) => ({
        id: `${parameter}-${id}`,
        label,
        ...iconOf(path),
        description: kind,
        keywords: search,
        onClick: () => void navigate({ to: `/${path}/${id}`, search: { [parameter]: "1" } as never }),
      })),
    },
    {
      group: t("app.palette.pages"),
      actions: sets.map(({ path, title, keywords = "" }) => ({
        id: path,
        label: title,
        keywords,
        ...iconOf(path),
        onClick: () => void navigate({ to: `/${path}` }),
      })),
    },
    {
      group: t("app.palette.create"),
      actions: sets.flatMap(({ path, create }) =>
        create === undefined || !permissions.includes(create.permission)
          ? []
          : [
              {
                id: `new-${path}`,
                label: create.title,
                leftSection: <Plus size={18} aria-hidden />,
                onClick: () => void navigate({ to: `/${path}`, search: { new: "1" } }),
              },
            ],
      ),
    },
    ...(search === "" ? [] : onlyFound),
  ];
  return (
    <Spotlight
      store={paletteStore}
      actions={groups.filter(({ actions }) => actions.length > 0)}
      query={typed}
      onQueryChange={setTyped}
      shortcut={paletteShortcut}
      tagsToIgnore={[]}
      nothingFound={t("app.palette.noResults")}
      highlightQuery
      attributes={{ content: { "aria-label": t("app.palette.search") } }}
      scrollable
      scrollAreaProps={{ offsetScrollbars: false }}
      maxHeight={420}
      overlayProps={{ backgroundOpacity: 0.6, blur: 0 }}
      searchProps={{
        leftSection: <Search size={18} aria-hidden />,
        placeholder: t("app.palette.placeholder"),
        "aria-label": t("app.palette.search"),
      }}
    />
  );
}

/** Selects the first result. The palette selects one only when it opens, and results arrive later. */
function selectFirst(): void {
  const list = document.getElementById(paletteStore.getState().listId);
  if (list === null || list.querySelector("[data-selected]") !== null) return;
  list.querySelector("[data-action]")?.setAttribute("data-selected", "true");
  paletteStore.updateState((state) => ({ ...state, selected: 0 }));
}

/** Reads text such as "deactivate ann": the beginning of the title of an action, and a part of a name. */
async function findActions(
  sets: readonly PageSet[],
  text: string,
  isPermitted: (action: Action) => boolean,
  queryClient: QueryClient,
  signal: AbortSignal,
): Promise<readonly FoundAction[]> {
  const found = sets.map(async (set) => {
    const actions = (set.actions ?? []).filter(isPermitted).map(async ({ title, parameter }) => {
      const name = nameAfter(title, text);
      if (name.length < 2) return [];
      const records = await findRecords(set, name, queryClient, signal);
      return records.map((record) => ({ ...record, parameter, label: `${title} ${record.label}` }));
    });
    return (await Promise.all(actions)).flat();
  });
  return (await Promise.all(found)).flat();
}

/** The text after the words of an action: "rotate berlin" and "rotate token berlin" both name "berlin". */
function nameAfter(title: string, text: string): string {
  const words = text.toLowerCase().split(/\s+/);
  const begins = (count: number) => title.toLowerCase().startsWith(words.slice(0, count).join(" "));
  let count = 0;
  while (count < words.length && begins(count + 1)) count += 1;
  return count === 0 ? "" : words.slice(count).join(" ");
}

async function findRecords(
  { path, title, find }: PageSet,
  text: string,
  queryClient: QueryClient,
  signal: AbortSignal,
): Promise<readonly Found[]> {
  if (find === undefined) return [];
  const kind = kinds[path] ?? title;
  if (!("field" in find)) {
    const all = await readWhole(find, text, queryClient);
    const labelled = all.map((record) => ({
      id: record.id,
      label: "address" in record ? record.address : record.name,
    }));
    const matching = labelled.filter(({ label }) => label.toLowerCase().includes(text.toLowerCase())).slice(0, 4);
    return matching.map((record) => ({ ...record, path, kind }));
  }
  const { data } = await paged(find.path).read(
    { [`filter[${find.field}][ilike]`]: containsPattern(text), limit: 4 },
    signal,
  );
  return data.map((record) => ({
    id: record.id,
    label: "name" in record ? record.name : (record.email ?? record.id),
    path,
    kind,
  }));
}

/** An unpaged list. A long list of addresses is read only for a text that could be a part of an address. */
async function readWhole(
  find: Exclude<NonNullable<PageSet["find"]>, { readonly field: string }>,
  text: string,
  queryClient: QueryClient,
) {
  const staleTime = 60_000;
  if (find.path === "/tenants/addresses") {
    const addresses = inParts(find.path);
    const { data, total } = await queryClient.fetchQuery({
      queryKey: [addresses.path, "part", 0],
      queryFn: (context) => addresses.readPart({ limit: mostInPart, offset: 0 }, context.signal),
      staleTime,
    });
    if (total <= data.length) return data;
    if (!/[.:/]/.test(text)) return [];
  }
  const source = whole(find.path);
  return queryClient.fetchQuery({
    queryKey: [source.path, "list", undefined],
    queryFn: (context) => source.read(context.signal),
    staleTime,
  });
}
