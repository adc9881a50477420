/** Reorders records by dragging a row or with the keys of its grip. The list that uses it saves the order. */
import { Alert } from "@mantine/core";
import { GripVertical } from "lucide-react";
import { type DragEvent, type KeyboardEvent, type PointerEvent, useCallback, useState } from "react";
import { t } from "../messages/i18n.ts";
import { moved } from "./moved.ts";

interface Ordered {
  readonly id: string;
  readonly name: string;
}

export interface Reorder<T extends Ordered> {
  readonly order: readonly T[];
  readonly isChanged: boolean;
  /** The last moved record, for announcements to screen readers and to keep it in view. */
  readonly lastMoved: { readonly id: string; readonly place: number } | undefined;
  readonly announcement: string;
  /** @param to maps the current position, from 0, to the new one; positions beyond the ends mean the nearest end */
  readonly move: (id: string, to: (from: number) => number) => void;
  /** Moves a record to the position of another. */
  readonly dropAt: (id: string, target: string) => void;
  readonly discard: () => void;
  /** Whether unsaved moves were discarded because the stored order changed. */
  readonly isOvertaken: boolean;
}

/**
 * An unsaved order. If the stored order changes, the stored order replaces it.
 *
 * @param stays whether a record keeps its position at the end
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
    announcement:
      place < 0
        ? ""
        : t("records.reorder.moved", { name: order[place]?.name ?? "", position: place + 1, total: order.length }),
    move,
    dropAt,
    discard,
    isOvertaken,
  };
}

function isSameOrder(one: readonly Ordered[], other: readonly Ordered[]): boolean {
  return one.length === other.length && one.every(({ id }, index) => id === other[index]?.id);
}

/** The notice that unsaved moves were discarded. */
export function OvertakenNotice() {
  return (
    <Alert color="orange" title={t("records.reorder.overtaken.title")} role="alert">
      {t("records.reorder.overtaken.text")}
    </Alert>
  );
}

function never(): boolean {
  return false;
}

/** The last position that a record can move to. */
export function lastPlace<T>(items: readonly T[], stays: (item: T) => boolean): number {
  const last = items.at(-1);
  return items.length - 1 - (last !== undefined && stays(last) ? 1 : 0);
}

interface GripProps {
  readonly id: string;
  readonly name: string;
  /** Such as "policy". Rows accept only drops of their own kind. */
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
      aria-label={t("records.reorder.grip", { name })}
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
 * Dragging by a finger or a pen, which the browser's drag and drop does not support. The window receives the events,
 * since the dragged row may scroll out of view.
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

/**
 * Distances from the window's edges at which a drag scrolls the page, and the step, in pixels. The header covers the
 * top.
 */
const edge = { top: 90, bottom: 40, step: 16 } as const;

const byKey: Readonly<Record<string, (from: number) => number>> = {
  ArrowUp: (from) => from - 1,
  ArrowDown: (from) => from + 1,
  Home: () => 0,
  End: () => Number.MAX_SAFE_INTEGER,
};

/** The props of a row that accepts drops. */
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

/** Restores the focus of a grip, which a row loses when it moves in the document. */
export function focusGrip(within: HTMLElement | null, id: string): void {
  const { activeElement } = document;
  if (activeElement !== null && activeElement !== document.body) return;
  within?.querySelector<HTMLElement>(`[data-grip="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });
}
