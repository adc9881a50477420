/** The tenant's configuration as one document: export, plan and apply. */
import { Alert, Button, Code, FileButton, Group, Stack, Textarea, Title } from "@mantine/core";
import { CircleCheck } from "lucide-react";
import { useEffect, useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { Warning } from "../../app/warning.tsx";
import { saveFile } from "../../lists/export-rows.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { Intro } from "../../records/intro.tsx";
import { Panel } from "../../records/record-page.tsx";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { DiscardNotice, useUnsaved } from "../../records/unsaved.tsx";
import { useAction } from "../../records/use-record.ts";
import { type Plan, PlanTable } from "./plan-table.tsx";

/** A plan with the text that it was computed from. */
interface Planned {
  readonly text: string;
  readonly document: object;
  readonly plan: Plan;
}

export function ConfigurationPage() {
  useEffect(() => {
    document.title = t("common.documentTitle", { title: t("configuration.title") });
  }, []);
  const canWrite = usePermission("configuration:write");
  const download = useAction({
    run: async () => {
      const found = await api.get("/tenants/configuration");
      saveFile("gatehouse.json", "application/json", `${JSON.stringify(found, null, 2)}\n`);
    },
    done: t("configuration.export.done"),
  });
  return (
    <Stack>
      <Title order={1}>{t("configuration.title")}</Title>
      <Panel title={t("configuration.export.title")}>
        <Stack align="flex-start" gap="sm">
          <Intro>
            <RichText message="configuration.export.text" elements={{ code: <Code className="one-line" /> }} />
          </Intro>
          <Button size="xs" variant="default" loading={download.isPending} onClick={() => download.mutate()}>
            {t("configuration.export.action")}
          </Button>
        </Stack>
      </Panel>
      {canWrite && <Apply />}
    </Stack>
  );
}

function Apply() {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<unknown>();
  const [syntaxError, setSyntaxError] = useState<string>();
  const [planned, setPlanned] = useState<Planned>();
  const [busy, setBusy] = useState(false);
  const [applying, setApplying] = useState(false);
  const unsaved = useUnsaved(text !== "");
  const edit = (next: string) => {
    setText(next);
    setProblem(undefined);
    setSyntaxError(undefined);
  };
  const plan = async () => {
    setProblem(undefined);
    const document = parseDocument(text);
    if (typeof document === "string") {
      setSyntaxError(document);
      return;
    }
    setBusy(true);
    try {
      // The server validates the document.
      const body = document as never;
      setPlanned({ text, document, plan: await api.post("/tenants/configuration/plan", { body }) });
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  // A plan describes the text that it was computed from, and nothing else.
  const current = planned?.text === text ? planned : undefined;
  const isEmpty = current?.plan.changes.length === 0;
  return (
    <Panel title={t("configuration.apply.title")}>
      <Stack gap="sm">
        <Intro>{t("configuration.apply.intro")}</Intro>
        <Warning>{t("configuration.apply.text")}</Warning>
        <DiscardNotice unsaved={unsaved} />
        <Textarea
          label={t("configuration.apply.document")}
          value={text}
          onChange={({ currentTarget }) => edit(currentTarget.value)}
          error={syntaxError}
          autosize
          minRows={8}
          maxRows={24}
          spellCheck={false}
          placeholder={t("common.example", { value: '{ "version": 1, "groups": [{ "name": "Engineering" }] }' })}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        />
        <Group gap="xs">
          <FileButton accept=".json,application/json" onChange={(file) => void file?.text().then(edit)}>
            {(button) => (
              <Button {...button} size="xs" variant="default">
                {t("configuration.apply.file")}
              </Button>
            )}
          </FileButton>
          <Button size="xs" loading={busy} disabled={text.trim() === ""} onClick={() => void plan()}>
            {t("configuration.apply.plan")}
          </Button>
        </Group>
        {problem !== undefined && <ProblemNotice error={problem} />}
        {current !== undefined && (
          <section aria-label={t("configuration.apply.difference")} aria-live="polite">
            <Stack gap="sm">
              {isEmpty ? (
                <Alert color="green" icon={<CircleCheck aria-hidden />}>
                  {t("configuration.apply.same")}
                </Alert>
              ) : (
                <>
                  <PlanTable plan={current.plan} />
                  <Group>
                    <Button size="xs" onClick={() => setApplying(true)}>
                      {t("configuration.apply.apply")}
                    </Button>
                  </Group>
                </>
              )}
            </Stack>
          </section>
        )}
        {applying && current !== undefined && (
          <ReviewDialog
            title={t("configuration.apply.confirm")}
            label={t("configuration.apply.apply")}
            changes={[{ method: "POST", path: "/tenants/configuration/apply", body: current.document }]}
            // Nothing may have changed since the plan.
            etag={`"${current.plan.generation}"`}
            danger={current.plan.summary.deleted > 0}
            note={t("configuration.apply.note", { ...current.plan.summary })}
            close={() => setApplying(false)}
            done={() => {
              unsaved.release();
              edit("");
              setPlanned(undefined);
            }}
            doneMessage={t("configuration.apply.done")}
          />
        )}
      </Stack>
    </Panel>
  );
}

/** Returns the document, or the reason why the text is not a document. */
function parseDocument(text: string): object | string {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return parsed;
    return t("configuration.apply.notAnObject");
  } catch (error) {
    return t("configuration.apply.notJson", { reason: error instanceof Error ? error.message : "" });
  }
}
