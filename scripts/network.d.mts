interface Network {
  readonly hosts: readonly string[]
  readonly elsewhere: 'ask' | 'deny'
}
interface Stream {
  readonly isTTY?: boolean
}

export declare const openingHint: string
export declare function networkLine(network: Network): string
export declare function mayAsk(io: {
  readonly stdin: Stream
  readonly stdout: Stream
  readonly env: Readonly<Record<string, string | undefined>>
}): boolean
export declare function askForHosts(options: {
  readonly open: (allow: string[]) => Promise<unknown>
  readonly say: (line: string) => void
  readonly stdin: NodeJS.ReadableStream
  readonly stdout: NodeJS.WritableStream
}): Promise<void>
export declare function readNetwork(read: () => Promise<unknown>): Promise<Network>
