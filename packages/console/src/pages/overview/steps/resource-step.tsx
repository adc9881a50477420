/** Publishes the first resource, behind a gateway. */
import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { t } from "../../../messages/i18n.ts";
import { PublishForm } from "../../publish/publish-form.tsx";

export function ResourceStep() {
  const [published, setPublished] = useState<readonly string[]>([]);
  return (
    <Stack gap="sm">
      <PublishForm key={published.length} isStep done={({ name }) => setPublished([...published, name])} />
      {published.length > 0 && <Text role="status">{t("publish.done.title", { name: published.at(-1) ?? "" })}</Text>}
    </Stack>
  );
}
