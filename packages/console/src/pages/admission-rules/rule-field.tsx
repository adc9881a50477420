/** The editor of a rule: a builder of conditions and a text editor, as two views of the same text. */
import { Input, SegmentedControl, Skeleton, Stack, useMantineContext } from "@mantine/core";
import { lazy, Suspense, useId, useState } from "react";
import { Warning } from "../../app/warning.tsx";
import { t } from "../../messages/i18n.ts";
import type { CustomFieldProps } from "../../records/form-fields.tsx";
import { readRule } from "../../records/rule-conditions.ts";
import { RuleBuilder } from "./rule-builder.tsx";

/** The text editor is large, so it loads only when it is used. */
const RuleText = lazy(async () => ({ default: (await import("./rule-text.tsx")).RuleText }));

export function RuleField({ value, onChange, error }: CustomFieldProps) {
  const text = String(value);
  const built = readRule(text);
  const [view, setView] = useState<"builder" | "text">(built === undefined ? "text" : "builder");
  const { getStyleNonce } = useMantineContext();
  const label = useId();
  return (
    <Stack gap={6}>
      <Stack gap={0}>
        <Input.Label component="div" id={label} required>
          {t("admissionRules.fields.rule")}
        </Input.Label>
        <SegmentedControl
          aria-label={t("admissionRules.builder.view")}
          value={view}
          onChange={setView}
          data={[
            { value: "builder", label: t("admissionRules.builder.viewBuilder") },
            { value: "text", label: t("admissionRules.builder.viewText") },
          ]}
        />
      </Stack>
      {view === "text" ? (
        <Suspense fallback={<Skeleton height={120} />}>
          <RuleText value={text} onChange={onChange} labelledBy={label} nonce={getStyleNonce?.() ?? ""} />
        </Suspense>
      ) : built === undefined ? (
        <Warning title={t("admissionRules.builder.tooComplex.title")}>
          {t("admissionRules.builder.tooComplex.text")}
        </Warning>
      ) : (
        <RuleBuilder rule={built} onChange={onChange} showsProblems={error !== undefined} />
      )}
      {error !== undefined && <Input.Error>{error}</Input.Error>}
    </Stack>
  );
}
