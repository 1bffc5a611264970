import type { Readable, Writable } from 'node:stream'

interface Network {
  readonly hosts: readonly string[]
  readonly elsewhere: 'ask' | 'deny'
}
interface Stream {
  readonly isTTY?: boolean
}
type Request = (
  path: string,
  options?: { readonly method?: string; readonly json?: unknown },
) => Promise<unknown>

export declare const openingHint: string
export declare function networkLine(network: Network): string
export declare function mayAsk(io: {
  readonly stdin: Stream
  readonly stdout: Stream
  readonly env: Readonly<Record<string, string | undefined>>
}): boolean
export declare function askForHosts(options: {
  readonly request: Request
  readonly say: (line: string) => void
  readonly stdin: Readable
  readonly stdout: Writable
}): Promise<void>
export declare function readNetwork(request: Request): Promise<Network>
