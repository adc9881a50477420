/** The button that opens the dialog to create a record. The address can open the dialog too (`?new=1`). */
import type { Permission } from "@gatehouse/contract/permissions";
import { Button } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { usePermission } from "../app/session.ts";

interface NewButtonProps {
  readonly label: string;
  readonly permission: Permission;
  readonly dialog: (close: () => void) => ReactNode;
}

export function NewButton({ label, permission, dialog }: NewButtonProps) {
  const canWrite = usePermission(permission);
  const search = useSearch({ strict: false }) as Readonly<Record<string, string>>; // the router parses every value as a string
  const navigate = useNavigate();
  const show = (value: string | undefined) =>
    void navigate({ to: ".", search: { ...search, new: value }, replace: true, resetScroll: false });
  if (!canWrite) return null;
  return (
    <>
      <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => show("1")}>
        {label}
      </Button>
      {search.new === "1" && dialog(() => show(undefined))}
    </>
  );
}
