/** What a folder of `pages/` tells the console about itself. */
import type { Permission } from "@gatehouse/contract/permissions";
import type { LucideIcon } from "lucide-react";
import type { ComponentType } from "react";

type Loading = () => Promise<ComponentType>;

export interface PageSet {
  /** The first part of the path, such as `users`. */
  readonly path: string;
  readonly title: string;
  readonly icon: LucideIcon;
  /** The heading in the navigation that it stands under. */
  readonly section: "Start" | "People" | "Network" | "Access" | "Administration";
  /** Who lacks it sees no entry for the pages. */
  readonly permission: Permission;
  /** At `/users`. Loaded when it is first shown. */
  readonly list: Loading;
  /** At `/users/{id}`. */
  readonly detail?: Loading;
  /** What `?new` on the list's page opens, for the command palette. */
  readonly create?: { readonly title: string; readonly permission: Permission };
  /** How the command palette finds records of the kind: by a field that the server filters, or by name in a list that comes whole. */
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
          | "/tenants/webhooks";
      };
}
