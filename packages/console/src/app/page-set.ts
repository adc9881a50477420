/** The declaration of the pages in one folder of `pages/`. */
import type { Permission } from "@gatehouse/contract/permissions";
import type { LucideIcon } from "lucide-react";
import type { ComponentType } from "react";

export const sections = ["start", "people", "network", "access", "administration"] as const;

export type Section = (typeof sections)[number];

type Loading = () => Promise<ComponentType>;

export interface PageTask {
  readonly title: string;
  /** Other words for the task. */
  readonly keywords?: string;
  /** `*:write` is any permission to write. */
  readonly permission: Permission | "*:write";
}

export interface PageEntry {
  readonly id: string;
  readonly title: string;
}

export interface PageSet {
  /** The first part of the path, such as `users`. */
  readonly path: string;
  readonly title: string;
  readonly icon: LucideIcon;
  /** The section of the navigation. */
  readonly section: Section;
  /** Required to see the pages in the navigation. Absent if every key can use them. */
  readonly permission?: Permission;
  /** Whether the pages are absent from the navigation and from the command palette. */
  readonly isHidden?: true;
  /** Other words with which the command palette finds the list, such as "audit log". */
  readonly keywords?: string;
  /** At `/users`. Loaded when it is first shown. */
  readonly list: Loading;
  /** At `/users/{id}`. */
  readonly detail?: Loading;
  /** The dialog that `?new=1` opens on the list page, for the command palette. */
  readonly create?: { readonly title: string; readonly permission: Permission };
  /** Dialogs on the page of a record that a query parameter opens, such as `?edit=1`. */
  readonly actions?: readonly { readonly title: string; readonly parameter: string; readonly permission: Permission }[];
  /** Tasks that begin on the list, for users of the command palette who know the task but not the page. */
  readonly tasks?: readonly PageTask[];
  /** Pages with fixed names, such as the guides, which the command palette finds by name. */
  readonly entries?: { readonly kind: string; readonly pages: readonly PageEntry[] };
  /** How the command palette finds records: by a field that the server filters, or by name in an unpaged list. */
  readonly find?:
    | {
        readonly path:
          | "/tenants/users"
          | "/tenants/groups"
          | "/tenants/devices"
          | "/tenants/resources"
          | "/tenants/policies"
          | "/tenants/access-tests";
        readonly field: string;
      }
    | {
        readonly path:
          | "/tenants/gateways"
          | "/tenants/protocols"
          | "/tenants/admission-rules"
          | "/tenants/api-keys"
          | "/tenants/enrolment-keys"
          | "/tenants/identity-providers"
          | "/tenants/webhooks";
      }
    | { readonly path: "/tenants/addresses"; readonly by: "address" };
}
