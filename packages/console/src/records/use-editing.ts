/** Whether a form of a record is open. The address can open it (by default `?edit=1`), even while the page is shown. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";

interface Disclosure {
  readonly open: () => void;
  readonly close: () => void;
}

export function useEditing(key = "edit"): readonly [boolean, Disclosure] {
  const search = useSearch({ strict: false }) as Readonly<Record<string, string>>; // the router parses every value as a string
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  const close = () => {
    setOpen(false);
    if (search[key] !== undefined) {
      // The search of the page, whose type depends on the route.
      void navigate({ to: ".", search: { ...search, [key]: undefined } as never, replace: true, resetScroll: false });
    }
  };
  return [isOpen || search[key] === "1", { open: () => setOpen(true), close }];
}
