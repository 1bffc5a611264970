export interface TenantPlan {
  readonly worker: string
  readonly databases: readonly {
    readonly binding: string
    readonly name: string
    readonly id?: string
  }[]
  readonly namespaces: readonly {
    readonly binding: string
    readonly name: string
    readonly id?: string
  }[]
  readonly configPath: string
  readonly keysPath: string
}
export declare function readConfig(path?: string): Promise<Record<string, unknown>>
export declare function planTenant(
  config: unknown,
  options: {
    readonly tenant?: string
    readonly folder: string
    readonly withoutIsolates?: boolean
  },
): TenantPlan
export declare function tenantConfig(
  config: unknown,
  plan: TenantPlan,
  found?: { readonly account?: string; readonly ids?: Readonly<Record<string, string>> },
): Record<string, unknown>
export declare function writeConfig(path: string, config: unknown): void
