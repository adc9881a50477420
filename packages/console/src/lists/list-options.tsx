/** The options of a list: columns, density, page size, and the export of what is filtered. */
import { ActionIcon, Menu, Text, useMatches } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { Download, Settings2 } from "lucide-react";
import { useState } from "react";
import { t } from "../messages/i18n.ts";
import { notifyProblem } from "../records/use-record.ts";
import { csvOf, maxExportedRows, saveFile } from "./export-rows.ts";
import type { Column, ListDefinition, ListState } from "./list-definition.ts";
import { type ListPreferences, pageSizes } from "./list-preferences.ts";
import { readMatching } from "./list-rows.ts";

interface ListOptionsProps<Row extends { readonly id: string }> {
  readonly definition: ListDefinition<Row>;
  readonly state: ListState;
  readonly preferences: ListPreferences;
  readonly change: (next: Partial<ListPreferences>) => void;
  /** Whether the list shows all its rows on one page. */
  readonly isOnePage?: boolean;
}

export function ListOptions<Row extends { readonly id: string }>(props: ListOptionsProps<Row>) {
  const { definition, state, preferences, change, isOnePage = false } = props;
  const { hidden, density, size } = preferences;
  const isFiltered = state.text !== "" || Object.keys(state.filters).length > 0;
  const [isExporting, setExporting] = useState(false);
  const save = async (format: "csv" | "json") => {
    setExporting(true);
    try {
      const { data, total } = await readMatching(definition, state, maxExportedRows);
      const name = `${definition.source.path.split("/").at(-1) ?? "records"}-${new Date().toISOString().slice(0, 10)}`;
      if (format === "csv") saveFile(`${name}.csv`, "text/csv", csvOf(data));
      else saveFile(`${name}.json`, "application/json", `${JSON.stringify(data, null, 2)}\n`);
      if (total > data.length) {
        notifications.show({
          color: "yellow",
          message: t("lists.export.cut", { count: data.length, total, noun: definition.noun }),
        });
      }
    } catch (error) {
      notifyProblem(error);
    } finally {
      setExporting(false);
    }
  };
  const [, ...optional] = definition.columns;
  const width = useMatches({ base: 0, xs: 1, sm: 2, md: 3, lg: 4, xl: 5 });
  return (
    <Menu position="bottom-end" width={230} closeOnItemClick={false}>
      <Menu.Target>
        <ActionIcon variant="default" size={34} aria-label={t("lists.options.label")} data-reads loading={isExporting}>
          <Settings2 size={16} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t("lists.options.columns")}</Menu.Label>
        {optional.map((column) => {
          const { key, title } = column;
          const isTooNarrow = isHiddenAt(width, column);
          return (
            <Menu.CheckboxItem
              key={key}
              checked={!hidden.includes(key)}
              disabled={isTooNarrow}
              onChange={(shown) =>
                change({ hidden: shown ? hidden.filter((other) => other !== key) : [...hidden, key] })
              }
            >
              {title}
              {isTooNarrow && (
                <Text size="xs" c="dimmed">
                  {t("lists.options.tooNarrow")}
                </Text>
              )}
            </Menu.CheckboxItem>
          );
        })}
        <Menu.Divider />
        <Menu.Label>{t("lists.options.density")}</Menu.Label>
        <Menu.RadioGroup
          value={density}
          onChange={(value) => change({ density: value === "compact" ? value : "comfortable" })}
        >
          {(["comfortable", "compact"] as const).map((value) => (
            <Menu.RadioItem key={value} value={value}>
              {t(`lists.options.${value}`)}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        {!isOnePage && (
          <>
            <Menu.Label>{t("lists.options.pageSize")}</Menu.Label>
            <Menu.RadioGroup value={String(size)} onChange={(value) => change({ size: Number(value) })}>
              {pageSizes.map((value) => (
                <Menu.RadioItem key={value} value={String(value)}>
                  {t("lists.options.rows", { count: value })}
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
            <Menu.Divider />
          </>
        )}
        <Menu.Label>{t(isFiltered ? "lists.export.filtered" : "lists.export.all")}</Menu.Label>
        <Menu.Item closeMenuOnClick leftSection={downloadIcon} onClick={() => void save("csv")}>
          {t("lists.export.csv")}
        </Menu.Item>
        <Menu.Item closeMenuOnClick leftSection={downloadIcon} onClick={() => void save("json")}>
          {t("lists.export.json")}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** An icon that is as wide as the marks of the items above, with their distance. */
const downloadIcon = <Download size={12} aria-hidden style={{ marginInlineEnd: -2 }} />;

const widths = ["xs", "sm", "md", "lg", "xl"] as const;

/**
 * Whether the screen is too narrow for the column. The narrowest screens show some columns as lines below the name.
 *
 * @param width the number of `widths` that the screen reaches
 */
function isHiddenAt<Row>(width: number, { visibleFrom, isBelow }: Column<Row>): boolean {
  if (visibleFrom === undefined || (isBelow === true && width < widths.indexOf("sm") + 1)) return false;
  return width < widths.indexOf(visibleFrom) + 1;
}
