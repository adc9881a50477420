/** A rule, made of conditions or written as text: two views of the same text. */
import { Alert, Input, SegmentedControl, Skeleton, Stack, useMantineContext } from "@mantine/core";
import { lazy, Suspense, useId, useState } from "react";
import type { CustomFieldProps } from "../../records/form-fields.tsx";
import { RuleBuilder } from "./rule-builder.tsx";
import { readRule } from "./rule-conditions.ts";

/** The editor is large, and comes where somebody writes text. */
const RuleText = lazy(async () => ({ default: (await import("./rule-text.tsx")).RuleText }));

export function RuleField({ value, onChange, error }: CustomFieldProps) {
  const text = String(value);
  const built = readRule(text);
  const [view, setView] = useState<"builder" | "text">(built === undefined ? "text" : "builder");
  const { getStyleNonce } = useMantineContext();
  const label = useId();
  return (
    <Stack gap={6}>
      <Input.Label component="div" id={label} required>
        Rule
      </Input.Label>
      <SegmentedControl
        aria-label="How the rule is shown"
        value={view}
        onChange={setView}
        data={[
          { value: "builder", label: "Builder" },
          { value: "text", label: "Text" },
        ]}
      />
      {view === "text" ? (
        <Suspense fallback={<Skeleton height={120} />}>
          <RuleText value={text} onChange={onChange} labelledBy={label} nonce={getStyleNonce?.() ?? ""} />
        </Suspense>
      ) : built === undefined ? (
        <Alert color="yellow" variant="outline" title="This rule says more than the builder can show">
          It is kept as it stands. Look at it, and change it, as text.
        </Alert>
      ) : (
        <RuleBuilder rule={built} onChange={onChange} />
      )}
      {error !== undefined && <Input.Error>{error}</Input.Error>}
    </Stack>
  );
}
