/** Whether the form of a record is open. The address can open it (`?edit=1`). */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";

interface Disclosure {
  readonly open: () => void;
  readonly close: () => void;
}

export function useEditing(): readonly [boolean, Disclosure] {
  const search = useSearch({ strict: false }) as Readonly<Record<string, string>>; // the router parses every value as a string
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(search.edit === "1");
  const close = () => {
    setOpen(false);
    if (search.edit !== undefined) {
      void navigate({ to: ".", search: { ...search, edit: undefined } as never, replace: true, resetScroll: false });
    }
  };
  return [isOpen, { open: () => setOpen(true), close }];
}
