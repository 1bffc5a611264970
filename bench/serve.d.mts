// Types of serve.mjs, for benches that are TypeScript.

export const wranglerConfig: string
export function makeTempDir(name: string): string
export function removeTempDir(path: string): void
export function build(options: {
  readonly entry: string
  readonly config: string
  readonly outDir: string
}): Promise<{ readonly folder: string; readonly kib: number; readonly gzipKib: number }>
export function serve(options: {
  readonly folder: string
  readonly config: string
  readonly vars: Readonly<Record<string, string>>
  readonly stateDir: string
  readonly inspectorPort?: number
  readonly isMigrated?: boolean
}): Promise<{ readonly url: string; readonly close: () => Promise<void> }>
export function manifestOf(folder: string): {
  readonly mainModule: string
  readonly modulesRoot: string
  readonly modules: Readonly<Record<string, { readonly type: 'esm'; readonly contents: string }>>
}
export function migrate(
  database: unknown,
  settings: { readonly migrations_dir?: string | undefined },
  config: string,
): Promise<void>
