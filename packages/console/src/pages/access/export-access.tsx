/** Exports the access that a question found, with the question, for example for an auditor. */
import { Button, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";
import { paged } from "../../app/api.ts";
import { csvOf, maxExportedRows, saveFile } from "../../lists/export-rows.ts";
import { t } from "../../messages/i18n.ts";
import { notifyProblem } from "../../records/use-record.ts";

const found = paged("/tenants/access");
const pageSize = 100;

interface ExportAccessProps {
  /** The query of the request whose answer is shown. */
  readonly parameters: Readonly<Record<string, string | number>>;
}

export function ExportAccess({ parameters: { limit, offset, ...question } }: ExportAccessProps) {
  const [isBusy, setBusy] = useState(false);
  const save = async (format: "csv" | "json") => {
    setBusy(true);
    try {
      const { at = new Date().toISOString() } = question;
      const asked = { ...question, at };
      const { rows, total } = await readAll(question);
      const name = `access-${String(at).slice(0, 10)}`;
      if (format === "csv") saveFile(`${name}.csv`, "text/csv", csvOf(rows.map((row) => ({ at, ...row }))));
      else
        saveFile(
          `${name}.json`,
          "application/json",
          `${JSON.stringify({ question: asked, total, data: rows }, null, 2)}\n`,
        );
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

async function readAll(question: Readonly<Record<string, string | number>>) {
  const { signal } = new AbortController();
  const first = await found.read({ ...question, limit: pageSize, offset: 0 }, signal);
  const rows = [...first.data];
  while (rows.length < Math.min(first.total, maxExportedRows)) {
    const { data } = await found.read({ ...question, limit: pageSize, offset: rows.length }, signal);
    if (data.length === 0) break;
    rows.push(...data);
  }
  return { rows, total: first.total };
}
