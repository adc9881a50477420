/** The title of a page, with its buttons and a sentence below, which is nearer to the title than to the content. */
import { Group, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

interface PageHeadProps {
  readonly title: string;
  readonly actions?: ReactNode;
  /** The sentence below the title. */
  readonly children?: ReactNode;
}

export function PageHead({ title, actions, children }: PageHeadProps) {
  return (
    <Stack gap={2} className="page-head">
      <Group justify="space-between">
        <Title order={1} style={{ overflowWrap: "anywhere" }}>
          <bdi>{title}</bdi>
        </Title>
        {actions}
      </Group>
      {children !== undefined && (
        <Text c="dimmed" className="page-about">
          {children}
        </Text>
      )}
    </Stack>
  );
}
