/** The title of a page and the sentence below it, which is nearer to the title than to the content of the page. */
import { Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

export function PageHead({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Stack gap={0}>
      <Title order={1}>{title}</Title>
      <Text c="dimmed">{children}</Text>
    </Stack>
  );
}
