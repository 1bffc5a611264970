import type { RequestOptions, Server } from 'node:http'

export interface FrontOptions {
  readonly host: string
  readonly port: number
  /** Where the Worker is. */
  readonly target: Pick<RequestOptions, 'host' | 'port' | 'socketPath'>
  /** Where its cron triggers are asked for; without it as any path. */
  readonly triggers?: Pick<RequestOptions, 'socketPath'>
  readonly onReached: () => void
  readonly onUnreachable: () => void
}
/** A server that listens and hands whole requests on. */
export declare function openFront(options: FrontOptions): Promise<Server>
