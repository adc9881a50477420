/** Exports the access that a question found, with the question, for example for an auditor. */
import { Button, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";
import { type ListQuery, paged } from "../../app/api.ts";
import { csvOf, maxExportedRows, saveFile } from "../../lists/export-rows.ts";
import { t } from "../../messages/i18n.ts";
import { readWithGeneration } from "../../records/access-history.ts";
import { withoutDeviceless } from "../../records/fold-devices.ts";
import { notifyProblem } from "../../records/use-record.ts";

const found = paged("/tenants/access");
const pageSize = 100;

interface ExportAccessProps {
  /** The query of the request whose answer is shown. */
  readonly parameters: ListQuery;
  /** Whether to include access without a device if the user also has it with one, as the list does. */
  readonly includesDeviceless: boolean;
}

export function ExportAccess({ parameters: { limit, offset, ...question }, includesDeviceless }: ExportAccessProps) {
  const [isBusy, setBusy] = useState(false);
  const save = async (format: "csv" | "json") => {
    setBusy(true);
    try {
      const { rows, total, at, generation } = await readAll(question);
      const shown = includesDeviceless ? rows : withoutDeviceless(rows);
      const name = `access-${at.slice(0, 10)}`;
      const configuration = generation === undefined ? {} : { generation };
      if (format === "csv") {
        saveFile(`${name}.csv`, "text/csv", csvOf(shown.map((row) => ({ at, ...configuration, ...row }))));
      } else {
        const asked = { ...question, at, includesAccessWithoutDevice: includesDeviceless };
        const isComplete = rows.length === total;
        const file = { question: asked, configuration, isComplete, count: shown.length, data: shown };
        saveFile(`${name}.json`, "application/json", `${JSON.stringify(file, null, 2)}\n`);
      }
      if (total > rows.length) {
        const message = t("lists.export.cut", { count: rows.length, total, noun: t("access.found.noun") });
        notifications.show({ color: "yellow", message });
      }
    } catch (error) {
      notifyProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Group gap="xs">
      {(["csv", "json"] as const).map((format) => (
        <Button key={format} size="xs" variant="default" data-reads loading={isBusy} onClick={() => void save(format)}>
          {t(`lists.export.${format}`)}
        </Button>
      ))}
    </Group>
  );
}

/** Reads every page. All pages are of the same generation, which is undefined if it is not known. */
async function readAll(question: ListQuery) {
  const { signal } = new AbortController();
  const at = typeof question.at === "string" ? question.at : undefined;
  const [answer, time] = await readWithGeneration(at, () => readPages(question, signal), signal);
  return { ...answer, ...time };
}

async function readPages(question: ListQuery, signal: AbortSignal) {
  const first = await found.read({ ...question, limit: pageSize, offset: 0 }, signal);
  const rows = [...first.data];
  while (rows.length < Math.min(first.total, maxExportedRows)) {
    const { data } = await found.read({ ...question, limit: pageSize, offset: rows.length }, signal);
    if (data.length === 0) break;
    rows.push(...data);
  }
  return { rows, total: first.total };
}
