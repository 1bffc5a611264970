/** Bindings of a configuration file, as far as benches serve them. */
export interface WranglerSettings {
  readonly compatibility_date: string
  readonly compatibility_flags: readonly string[]
  readonly d1_databases: readonly { readonly binding: string; readonly migrations_dir?: string }[]
  readonly kv_namespaces: readonly { readonly binding: string }[]
  readonly worker_loaders: readonly { readonly binding: string }[]
  readonly durable_objects: {
    readonly bindings: readonly { readonly name: string; readonly class_name: string }[]
  }
}
export function readConfig(path: string): Promise<WranglerSettings>
