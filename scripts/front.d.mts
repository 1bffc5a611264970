import type { Server } from 'node:http'

export interface FrontOptions {
  readonly host: string
  readonly port: number
  /** The dev server. */
  readonly target: { readonly host: string; readonly port: number }
  readonly onReached: () => void
  readonly onUnreachable: () => void
}
/** A server that listens and hands whole requests on. */
export declare function openFront(options: FrontOptions): Promise<Server>
