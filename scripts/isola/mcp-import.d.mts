export interface ImportedServer {
  readonly id: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly auth?: 'oauth'
}
export function toServerId(name: string): string
export function toServers(json: unknown): {
  readonly servers: readonly ImportedServer[]
  readonly skipped: readonly { readonly id: string; readonly why: string }[]
}
