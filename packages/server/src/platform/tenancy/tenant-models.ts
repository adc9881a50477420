import type { Model } from "@gatehouse/policy/model/model";

/** The input of a tenant's decisions at one generation. Immutable. */
export interface TenantModel {
  readonly generation: number;
  readonly model: Model;
  /** The id of the user with an email address, compared case-insensitively. */
  userIdOf(email: string): string | undefined;
  resourceIdOf(name: string): string | undefined;
}

/** Cached models of tenants. */
export interface TenantModels {
  /**
   * @returns the tenant's model, never older than the last change that any replica had committed before the call
   * @throws AppError database_unavailable
   */
  current(tenantId: string): Promise<TenantModel>;

  /**
   * @param at a time in the past
   * @returns the model of the tenant at that time, or the start of the available history in ISO 8601 if the time is
   *   outside of it
   * @throws AppError database_unavailable
   */
  at(tenantId: string, at: Date): Promise<TenantModel | { readonly begins: string }>;
}
