import { Badge, Group } from "@mantine/core";
import type { User } from "./user-fields.tsx";

/** The roles of a user, held directly or through groups. */
export function RolesOf({ user }: { readonly user: Pick<User, "roles"> }) {
  return (
    <Group gap="xs">
      {user.roles.map(({ id, name }) => (
        <Badge key={id} variant="default" tt="none">
          {name}
        </Badge>
      ))}
    </Group>
  );
}
