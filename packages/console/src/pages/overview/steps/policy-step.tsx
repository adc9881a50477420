/** Creates the first policy: who reaches the resource, and under which conditions. */
import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { GuideLink } from "../../../records/guide-link.tsx";
import { AccessForm } from "../../publish/access-form.tsx";

export function PolicyStep() {
  const [round, setRound] = useState(0);
  return (
    <Stack gap="sm">
      <AccessForm key={round} done={() => setRound(round + 1)} />
      <Text size="sm">
        <GuideLink to="console#policies" />
      </Text>
    </Stack>
  );
}
