/** Putting records into another order: by dragging a row, or by the keys of its grip. Saving is for whoever shows the list. */
import { Alert } from "@mantine/core";
import { GripVertical } from "lucide-react";
import { type DragEvent, type KeyboardEvent, type PointerEvent, useCallback, useState } from "react";
import { moved } from "./moved.ts";

interface Ordered {
  readonly id: string;
  readonly name: string;
}

export interface Reorder<T extends Ordered> {
  readonly order: readonly T[];
  readonly isChanged: boolean;
  /** What moved last, to be told to who does not see it, and to be kept in sight. */
  readonly lastMoved: { readonly id: string; readonly place: number } | undefined;
  readonly announcement: string;
  /** @param to of the place that it has, from 0, the one that it is to have; beyond the ends means the end */
  readonly move: (id: string, to: (from: number) => number) => void;
  /** To where another record stands. */
  readonly dropAt: (id: string, target: string) => void;
  readonly discard: () => void;
  /** Whether moves were dropped because the stored order became another one than that. */
  readonly isOvertaken: boolean;
}

/**
 * An order that is not saved yet. Where the stored order becomes another one, that one is taken.
 *
 * @param stays whether a record keeps its place at the end
 */
export function useReorder<T extends Ordered>(stored: readonly T[], stays: (item: T) => boolean = never): Reorder<T> {
  const [order, setOrder] = useState(stored);
  const [lastId, setLastId] = useState<string>();
  const [base, setBase] = useState(stored);
  const [isOvertaken, setOvertaken] = useState(false);
  if (base !== stored && !isSameOrder(base, stored)) {
    setBase(stored);
    setOrder(stored);
    setLastId(undefined);
    setOvertaken(!isSameOrder(order, base) && !isSameOrder(order, stored));
  }
  const move = useCallback(
    (id: string, to: (from: number) => number) => {
      setLastId(id);
      setOvertaken(false);
      setOrder((now) => {
        const end = lastPlace(now, stays);
        const from = now.findIndex((item) => item.id === id);
        const target = Math.min(Math.max(to(from), 0), end);
        return from < 0 || from > end || target === from ? now : moved(now, from, target);
      });
    },
    [stays],
  );
  const dropAt = useCallback(
    (id: string, target: string) => {
      setLastId(id);
      setOvertaken(false);
      setOrder((now) => {
        const end = lastPlace(now, stays);
        const from = now.findIndex((item) => item.id === id);
        const to = now.findIndex((item) => item.id === target);
        return from < 0 || to < 0 || from > end ? now : moved(now, from, Math.min(to, end));
      });
    },
    [stays],
  );
  const discard = useCallback(() => {
    setLastId(undefined);
    setOrder(stored);
  }, [stored]);
  const place = lastId === undefined ? -1 : order.findIndex(({ id }) => id === lastId);
  return {
    order,
    isChanged: !isSameOrder(order, stored),
    lastMoved: lastId === undefined || place < 0 ? undefined : { id: lastId, place },
    announcement: place < 0 ? "" : `${order[place]?.name} is now number ${place + 1} of ${order.length}.`,
    move,
    dropAt,
    discard,
    isOvertaken,
  };
}

function isSameOrder(one: readonly Ordered[], other: readonly Ordered[]): boolean {
  return one.length === other.length && one.every(({ id }, index) => id === other[index]?.id);
}

/** What is said to whoever had moved something. */
export function OvertakenNotice() {
  return (
    <Alert color="orange" title="The stored order was changed meanwhile" role="alert">
      This is how it stands now. Your moves were not saved: make them again if they are still right.
    </Alert>
  );
}

function never(): boolean {
  return false;
}

/** The last place to which something may be moved. */
export function lastPlace<T>(items: readonly T[], stays: (item: T) => boolean): number {
  const last = items.at(-1);
  return items.length - 1 - (last !== undefined && stays(last) ? 1 : 0);
}

interface GripProps {
  readonly id: string;
  readonly name: string;
  /** What is dragged onto what, such as "policy": others are not taken. */
  readonly kind: string;
  readonly move: Reorder<Ordered>["move"];
  readonly dropAt: Reorder<Ordered>["dropAt"];
}

export function Grip({ id, name, kind, move, dropAt }: GripProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    const to = byKey[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(id, to);
  };
  return (
    <button
      type="button"
      className="grip"
      draggable
      data-grip={id}
      aria-label={`Order of ${name}: drag, or use the arrow keys`}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => followFinger(event, kind, id, dropAt)}
      onDragStart={(event) => {
        event.dataTransfer.setData(typeOf(kind), id);
        event.dataTransfer.effectAllowed = "move";
        const row = event.currentTarget.closest("li, tr");
        if (row !== null) event.dataTransfer.setDragImage(row, 0, 0);
      }}
    >
      <GripVertical size={18} aria-hidden />
    </button>
  );
}

/**
 * Dragging by a finger or a pen, which the browser's own dragging leaves out. It is followed at the window, since the row that is
 * held may be scrolled out of sight.
 */
function followFinger({ pointerId, pointerType }: PointerEvent, kind: string, id: string, dropAt: GripProps["dropAt"]) {
  if (pointerType === "mouse") return;
  const ended = new AbortController();
  let under: HTMLElement | null = null;
  const hover = (row: HTMLElement | null) => {
    under?.removeAttribute("data-under-finger");
    under = row;
    under?.setAttribute("data-under-finger", "true");
  };
  const listen = (type: "pointermove" | "pointerup" | "pointercancel", run: (at: globalThis.PointerEvent) => void) =>
    window.addEventListener(type, (event) => event.pointerId === pointerId && run(event), { signal: ended.signal });
  listen("pointermove", ({ clientX, clientY }) => {
    if (clientY < edge.top) window.scrollBy(0, -edge.step);
    if (clientY > window.innerHeight - edge.bottom) window.scrollBy(0, edge.step);
    hover(document.elementFromPoint(clientX, clientY)?.closest<HTMLElement>(`[data-row-of="${kind}"]`) ?? null);
  });
  listen("pointerup", () => {
    const target = under?.dataset.rowId;
    hover(null);
    ended.abort();
    if (target !== undefined && target !== id) dropAt(id, target);
  });
  listen("pointercancel", () => {
    hover(null);
    ended.abort();
  });
}

/** How near to the window's edges a finger scrolls the page, and how far at each move, in pixels: the header stands on top. */
const edge = { top: 90, bottom: 40, step: 16 } as const;

const byKey: Readonly<Record<string, (from: number) => number>> = {
  ArrowUp: (from) => from - 1,
  ArrowDown: (from) => from + 1,
  Home: () => 0,
  End: () => Number.MAX_SAFE_INTEGER,
};

/** Of a row onto which others are dropped. */
export function dropTarget(kind: string, target: string, dropAt: Reorder<Ordered>["dropAt"]) {
  return {
    "data-row-of": kind,
    "data-row-id": target,
    onDragOver: (event: DragEvent) => {
      if (event.dataTransfer.types.includes(typeOf(kind))) event.preventDefault();
    },
    onDrop: (event: DragEvent) => {
      const id = event.dataTransfer.getData(typeOf(kind));
      if (id === "") return;
      event.preventDefault();
      dropAt(id, target);
    },
  };
}

function typeOf(kind: string): string {
  return `application/x-gatehouse-${kind}`;
}

/** A row that was moved in the document has lost the focus that it had: its grip is given it again. */
export function focusGrip(within: HTMLElement | null, id: string): void {
  const { activeElement } = document;
  if (activeElement !== null && activeElement !== document.body) return;
  within?.querySelector<HTMLElement>(`[data-grip="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });
}
