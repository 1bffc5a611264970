/** A new folder that only this account may enter. */
export declare function makeSocketFolder(): string
/** Where the Worker, Miniflare's entry and Miniflare listen. */
export declare function socketsIn(
  folder: string,
): Readonly<Record<'worker' | 'entry' | 'loopback', string>>
