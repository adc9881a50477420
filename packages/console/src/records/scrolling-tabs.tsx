/** A row of tabs. If the row is wider than the screen, it scrolls to the selected tab. */
import { Tabs, type TabsListProps } from "@mantine/core";
import { useViewportSize } from "@mantine/hooks";
import { useEffect, useRef } from "react";

interface ScrollingTabsProps extends Pick<TabsListProps, "aria-label" | "mb"> {
  readonly tabs: readonly { readonly value: string; readonly label: string }[];
  /** The value of the selected tab. */
  readonly selected: string;
}

export function ScrollingTabs({ tabs, selected, ...list }: ScrollingTabsProps) {
  const row = useRef<HTMLDivElement>(null);
  const { width } = useViewportSize();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another value is another selected tab
  useEffect(() => {
    const tab = row.current?.querySelector<HTMLElement>("[aria-selected=true]");
    if (!row.current || !tab) return;
    row.current.scrollLeft = tab.offsetLeft - (row.current.clientWidth - tab.offsetWidth) / 2;
  }, [selected, width]);
  return (
    <Tabs.List ref={row} {...list} className="scrolling-tabs">
      {tabs.map(({ value, label }) => (
        <Tabs.Tab key={value} value={value}>
          {label}
        </Tabs.Tab>
      ))}
    </Tabs.List>
  );
}
