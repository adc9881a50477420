import type { Model } from "@gatehouse/policy/model/model";

/** What a tenant's decisions are made from, at one generation. Immutable. */
export interface TenantModel {
  readonly generation: number;
  readonly model: Model;
  /** The id of the user with an e-mail address, whatever its case. */
  userIdOf(email: string): string | undefined;
  resourceIdOf(name: string): string | undefined;
}

/** Tenants' models, kept in memory. */
export interface TenantModels {
  /**
   * @returns the tenant's model, never older than the last change that any replica had committed before the call
   * @throws AppError database_unavailable
   */
  current(tenantId: string): Promise<TenantModel>;

  /**
   * @param at a moment that is past
   * @returns the tenant's model as it was; or where that is not known any more, or not yet, since when it is, in ISO 8601
   * @throws AppError database_unavailable
   */
  at(tenantId: string, at: Date): Promise<TenantModel | { readonly begins: string }>;
}
