/** Named views of a list, which belong to the signed-in person. */
import type { ItemAt } from "@gatehouse/client/calls";
import { Button, Group, Menu, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { ChevronDown } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api } from "../app/api.ts";
import { useSession } from "../app/session.ts";
import { t } from "../messages/i18n.ts";
import { Dialog } from "../records/dialog.tsx";
import { useAction } from "../records/use-record.ts";
import type { ListState } from "./list-definition.ts";
import { type ListPreferences, parsePreferences } from "./list-preferences.ts";

type View = ItemAt<"/tenants/views">;

interface ListViewsProps {
  /** The path of the list, such as `/tenants/users`. */
  readonly path: string;
  /** The names of the list's filters. A view can contain others, which a later version of the list dropped. */
  readonly fields: readonly string[];
  readonly state: ListState;
  readonly preferences: ListPreferences;
  /** Shows the list as a view describes it. */
  readonly apply: (search: Readonly<Record<string, string | undefined>>, preferences: ListPreferences) => void;
}

/** Keys have no views. */
export function ListViews(props: ListViewsProps) {
  const { user } = useSession();
  const list = /^\/tenants\/([a-z][a-z-]*)$/.exec(props.path)?.[1];
  return user === undefined || list === undefined ? null : <ViewMenu {...props} list={list} />;
}

function ViewMenu({ list, fields, state, preferences, apply }: ListViewsProps & { readonly list: string }) {
  const { data } = useQuery({
    queryKey: ["/tenants/views"],
    queryFn: ({ signal }) => api.get("/tenants/views", { signal }),
  });
  const [applied, setApplied] = useState<string>();
  const [isSaving, setSaving] = useState(false);
  const views = (data ?? []).filter((view) => view.list === list);
  const current = views.find(({ id }) => id === applied);
  const settings = settingsOf(state, preferences);
  const update = useAction<View>({
    run: ({ id }) => api.patch("/tenants/views/{id}", { path: { id }, body: settings }),
    done: t("lists.views.updated"),
  });
  const remove = useAction<View>({
    run: ({ id }) => api.delete("/tenants/views/{id}", { path: { id } }),
    done: t("lists.views.deleted"),
  });
  const show = (view: View) => {
    setApplied(view.id);
    apply(
      {
        ...Object.fromEntries(fields.map((field) => [field, view.filters[field]])),
        q: view.search === "" ? undefined : view.search,
        sort: view.sort === "" ? undefined : view.sort,
      },
      parsePreferences({ hidden: view.hiddenColumns, density: view.density, size: view.pageSize }),
    );
  };
  return (
    <>
      <Menu position="bottom-end" width={240}>
        <Menu.Target>
          <Button variant="default" rightSection={<ChevronDown size={14} aria-hidden />} data-reads>
            {current?.name ?? t("lists.views.label")}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {views.map((view) => (
            <Menu.Item key={view.id} onClick={() => show(view)} {...(view === current ? { fw: 600 } : {})}>
              <bdi>{view.name}</bdi>
            </Menu.Item>
          ))}
          {views.length > 0 && <Menu.Divider />}
          <Menu.Item onClick={() => setSaving(true)}>{t("lists.views.save")}</Menu.Item>
          {current !== undefined && (
            <>
              <Menu.Item onClick={() => update.mutate(current)}>
                {t("lists.views.update", { name: current.name })}
              </Menu.Item>
              <Menu.Item onClick={() => remove.mutate(current)}>
                {t("lists.views.delete", { name: current.name })}
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      {isSaving && <SaveDialog list={list} settings={settings} saved={setApplied} close={() => setSaving(false)} />}
    </>
  );
}

type ViewSettings = ReturnType<typeof settingsOf>;

function settingsOf({ text, sort, filters }: ListState, { hidden, density, size }: ListPreferences) {
  return { search: text, filters, sort, hiddenColumns: [...hidden], density, pageSize: size };
}

interface SaveDialogProps {
  readonly list: string;
  readonly settings: ViewSettings;
  readonly saved: (id: string) => void;
  readonly close: () => void;
}

function SaveDialog({ list, settings, saved, close }: SaveDialogProps) {
  const [name, setName] = useState("");
  const create = useAction({
    run: async () => {
      const { id } = await api.post("/tenants/views", { body: { list, name: name.trim(), ...settings } });
      saved(id);
      close();
    },
    done: t("lists.views.saved"),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <Dialog title={t("lists.views.saveTitle")} onClose={close}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label={t("lists.views.name")}
            description={t("lists.views.help")}
            placeholder={t("common.example", { value: t("lists.views.nameExample") })}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={120}
            required
            data-autofocus
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t("common.cancel")}
            </Button>
            <Button type="submit" loading={create.isPending} disabled={name.trim() === ""}>
              {t("lists.views.saveButton")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
