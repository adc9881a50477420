/** The menu of the actions on a record that people rarely take, so that the page shows the common ones only. */
import { Button, Menu } from "@mantine/core";
import { ChevronDown } from "lucide-react";
import { createContext, type ReactNode, useContext, useMemo, useState } from "react";
import { t } from "../messages/i18n.ts";

interface ActionMenu {
  /** The children are rendered twice: as items of the menu, and outside of it, because dialogs outlive the menu. */
  readonly part: "items" | "dialogs";
  /** The label of the action whose dialog is open. */
  readonly opened: string | undefined;
  readonly open: (label: string | undefined) => void;
}

const ActionMenuContext = createContext<ActionMenu | undefined>(undefined);

/** The menu that the component is part of. */
export const useActionMenu = () => useContext(ActionMenuContext);

interface MenuActionProps {
  readonly label: string;
  readonly disabled?: boolean;
  readonly onClick: () => void;
}

/** An item of `MoreActions` without a dialog of its own. */
export function MenuAction({ label, disabled = false, onClick }: MenuActionProps) {
  if (useActionMenu()?.part !== "items") return null;
  return (
    <Menu.Item disabled={disabled} onClick={onClick}>
      {label}
    </Menu.Item>
  );
}

/** @param children `MenuAction`, and buttons of the kind `ReviewedButton`, which become items of the menu */
export function MoreActions({ children }: { readonly children: ReactNode }) {
  const [opened, open] = useState<string>();
  const items = useMemo(() => ({ part: "items", opened, open }) as const, [opened]);
  const dialogs = useMemo(() => ({ part: "dialogs", opened, open }) as const, [opened]);
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" rightSection={<ChevronDown size={16} aria-hidden />}>
            {t("common.more")}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <ActionMenuContext value={items}>{children}</ActionMenuContext>
        </Menu.Dropdown>
      </Menu>
      <ActionMenuContext value={dialogs}>{children}</ActionMenuContext>
    </>
  );
}
