/** A panel of records with a button that adds one. While the panel is empty, the empty state has the button. */
import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { usePermissions } from "../app/session.ts";
import { type EmptyButton, type EmptyPart, EmptyState } from "./empty-list.tsx";
import { Panel } from "./record-page.tsx";

interface AddingPanelProps {
  readonly title: string;
  readonly add: EmptyButton;
  readonly empty: Omit<EmptyPart, "action">;
  readonly isEmpty: boolean;
  /** The records, shown unless the panel is empty. */
  readonly children: ReactNode;
}

export function AddingPanel({ title, add, empty, isEmpty, children }: AddingPanelProps) {
  const canAdd = usePermissions().includes(add.permission);
  const button = canAdd && !isEmpty && (
    <Button size="xs" variant="default" onClick={add.run}>
      {add.label}
    </Button>
  );
  return (
    <Panel title={title} actions={button}>
      {isEmpty ? <EmptyState isPart empty={{ ...empty, action: add }} /> : children}
    </Panel>
  );
}
